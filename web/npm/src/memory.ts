import { call } from "./call.js";
import { traceable } from "./compile.js";
import type { Device } from "./device.js";
import { WeftError } from "./error.js";
import { structs, type DType } from "./generated/raw.js";
import { disposing } from "./handle.js";
import { Tensor } from "./tensor.js";

/** Buffers of one size. */
export interface MemoryClass {
  /** Of each. */
  bytes: number;
  /** How many something holds. */
  used: number;
  /** How many are kept for reuse. */
  kept: number;
}

/** Where the bytes of a device's buffers are. */
export interface MemoryReport {
  /** Of buffers that tensors and compiled functions hold. */
  inUse: number;
  /** Of these, what was asked for; the rest is rounding to sizes that meet again. */
  asked: number;
  /** Kept for reuse. */
  pooled: number;
  /** Most in use so far. */
  peak: number;
  /** Of buffers that results are read from. */
  staging: number;
  /** What setMemoryLimit() was given; 0: none. */
  limit: number;
  /** The share of all bytes on the device that hold nothing. */
  fragmentation: number;
  /** Smallest first. */
  classes: MemoryClass[];
}

/** What happened at the limit of a device's memory. */
export interface MemoryEvent {
  /** A buffer does not fit and is tried once more after this; else much of the limit is in use now. */
  full: boolean;
  inUse: number;
  pooled: number;
  limit: number;
  /** Bytes of the buffer that this is about. */
  asked: number;
}

/** What a device is and what it is good at; rates are estimates. */
export interface DeviceHints {
  /** Invocations of a workgroup that suit most kernels. */
  workgroup: number;
  mostInvocations: number;
  workgroupBytes: number;
  /** In each dimension of a grid. */
  mostWorkgroups: number;
  /** 0 where there are no subgroups, as the next. */
  subgroupMin: number;
  subgroupMax: number;
  bindingAlignment: number;
  mostBindings: number;
  maxBindingBytes: number;
  maxBufferBytes: number;
  /** That run workgroups by themselves. */
  processors: number;
  /** Products of matrices have units of their own. */
  matrixUnits: boolean;
  /** Bytes per nanosecond. */
  memoryRate: number;
  /** Of the last cache. */
  cacheBytes: number;
  /** Bytes read in the time that a launch costs. */
  launchBytes: number;
  /** Operations of f16 in the time of one of f32. */
  f16Rate: number;
}

export function memoryReport(device: Device): MemoryReport {
  return call(device, (frame) => {
    const layout = structs.weft_memory_report, one = structs.weft_memory_class, at = frame.struct(layout, {});
    device.engine.call("weft_device_get_memory_report", device.handle, at, 0, 0n);
    const { classCount, ...report } = frame.read<Omit<MemoryReport, "classes"> & { classCount: number }>(layout, at);
    const classes = frame.alloc(one.size * classCount);
    device.engine.call("weft_device_get_memory_report", device.handle, at, classes, BigInt(classCount));
    return { ...report, classes: Array.from({ length: classCount }, (_, i) => frame.read<MemoryClass>(one, classes + one.size * i)) };
  });
}

/** A function for C that tells the listeners of a device about its limit. */
export function memoryListener(device: Device): number {
  return device.engine.module.addFunction((_context, event) => {
    const detail = call(device, (frame) => frame.read<MemoryEvent>(structs.weft_memory_event, event!));
    device.dispatchEvent(new CustomEvent("memory", { detail }));
  }, "vii");
}

/** The type and shape of a tensor. */
export interface TensorType {
  shape: readonly number[];
  dtype?: DType;
}

/** Whether a device computes something: why not, or in how many kernel launches. */
export interface Support {
  supported: boolean;
  reason: string;
  dispatches: number;
}

/**
 * Whether a function of tensors can be computed on the device with inputs of these types: it is written down and planned for the
 * device, and nothing is compiled or run.
 */
export function supports(device: Device, inputs: readonly TensorType[], fn: (...inputs: Tensor[]) => Tensor): Support {
  const failed: { error?: unknown } = {}, pointer = traceable(device, fn, 1, failed);
  try {
    return call(device, (frame) => {
      const types = frame.struct(structs.weft_tensor_type, ...inputs.map(({ shape, dtype = "f32" }) => ({ dtype, rank: shape.length, shape })));
      const room = 1024, supported = frame.u32s([0]), dispatches = frame.i64s([0]), reason = frame.alloc(room);
      device.engine.call("weft_supports", device.handle, types, inputs.length, pointer, 0, supported, dispatches, reason, room);
      if (failed.error !== undefined && !(failed.error instanceof WeftError)) throw failed.error;
      return {
        supported: frame.view().getUint8(supported) !== 0,
        reason: failed.error instanceof WeftError ? failed.error.message : device.engine.text(reason),
        dispatches: Number(frame.view().getBigUint64(dispatches, true)),
      };
    });
  } finally {
    device.engine.module.removeFunction(pointer);
  }
}

/**
 * Runs `work` and disposes at once of every tensor, buffer and function that was made in it, apart from tensors that it gives
 * back: one, or a list or an object of them. It must not wait for anything: scopes follow calls, not promises.
 */
export function scope<T>(work: () => T): T {
  return disposing(work, (result) => (result instanceof Tensor ? [result] : Object.values(result ?? {})));
}
