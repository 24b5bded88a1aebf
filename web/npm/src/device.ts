import { Buffer } from "./buffer.js";
import { call, dtypeNumber, Frame, waiting } from "./call.js";
import { Engine, type LoadOptions } from "./engine.js";
import { shown, WeftError } from "./error.js";
import { load, save, type NamedTensors } from "./files.js";
import { structs, type DType } from "./generated/raw.js";
import { Kernel, type KernelSource } from "./kernel.js";
import { memoryListener, memoryReport, type DeviceHints, type MemoryReport } from "./memory.js";
import { Tensor } from "./tensor.js";
import type { BrowserDevice } from "./weft.mjs";
import { flatten, type Nested } from "./values.js";

/** How a device is opened. */
export interface DeviceOptions extends LoadOptions {
  /** An engine that is loaded already; devices that share tensors' values through the host may share it. */
  engine?: Engine;
  /** Capabilities to take away, for example "-f16,-subgroups": what a weaker device would do can be tried anywhere. */
  caps?: string;
  /** Whether everything is timed, kernels one by one, for profile(); the whole then takes longer. */
  profile?: boolean;
  /**
   * Whether indices out of range are errors of the next call that reads or waits; otherwise they give zeros or go nowhere.
   * Kernels write them down as they meet them, so that nothing waits in between.
   */
  checkIndices?: boolean;
}

/** What a device has done: `table` is for people, `trace` for Perfetto. */
export interface Profile {
  table: string;
  trace: string;
}

/** The adapter behind a device and what it can do. */
export interface DeviceInfo {
  name: string;
  vendor: string;
  architecture: string;
  driver: string;
  backend: string;
  kind: string;
  software: boolean;
  f16: boolean;
  subgroups: boolean;
  subgroupMatrix: boolean;
  timestamps: boolean;
  maxBufferBytes: number;
  maxBindingBytes: number;
  bindingAlignment: number;
}

/** Bytes of a device's buffers. */
export interface Memory {
  inUse: number;
  pooled: number;
  peak: number;
}

let shared: Promise<Engine> | undefined;

/**
 * A GPU, or a software stand-in for one. Dispatches `lost` when the browser takes the GPU away (every call then fails with
 * the code "device_lost"), `recovered` after recover(), and `error` for what went wrong on the GPU without a call that could
 * say so; `detail` is the browser's sentence about it.
 */
export class Device extends EventTarget {
  readonly engine: Engine;
  readonly #options: DeviceOptions;
  #handle = 0;
  #browser: BrowserDevice | undefined;
  #isLost = false;
  #listener = 0;

  private constructor(engine: Engine, options: DeviceOptions) {
    super();
    this.engine = engine;
    this.#options = options;
  }

  /** Loads the engine, once per page, and opens the best device that the browser offers. */
  static async open(options: DeviceOptions = {}): Promise<Device> {
    const own = options.gpu !== undefined || options.wasmUrl !== undefined || options.wasmBinary !== undefined;
    const engine = options.engine ?? (await (own ? Engine.load(options) : (shared ??= Engine.load())));
    const device = new Device(engine, options);
    await device.#open();
    return device;
  }

  async #open(): Promise<void> {
    const frame = new Frame(this.engine);
    try {
      const at = frame.struct(structs.weft_device_options, { profile: this.#options.profile, checkIndices: this.#options.checkIndices });
      if (this.#options.caps) {
        frame.view().setUint32(at + structs.weft_device_options.members.capsMask[1], frame.text(this.#options.caps), true);
      }
      const out = frame.u32s([0]);
      await this.engine.open(() => this.engine.wait("weft_device_open", at, out), (device) => this.#watch(device));
      this.#handle = frame.view().getUint32(out, true);
    } finally {
      frame.free();
    }
  }

  #watch(device: BrowserDevice): void {
    this.#browser = device;
    this.#isLost = false;
    void device.lost.then(({ message, reason }) => this.#lost(device, message || reason));
    device.addEventListener?.("uncapturederror", ({ error }) => this.dispatchEvent(new CustomEvent("error", { detail: error.message })));
  }

  #lost(device: BrowserDevice, reason: string): void {
    if (this.#handle === 0 || device !== this.#browser) return;
    this.#isLost = true;
    this.dispatchEvent(new CustomEvent("lost", { detail: reason }));
  }

  /** Whether the browser has taken the GPU away. */
  get lost(): boolean {
    return this.#isLost;
  }

  /**
   * Opens the GPU again after it was lost, and puts it in the place of the old one: this object, tensors and compiled functions
   * stay valid. Tensors that were kept (Tensor.keep) or loaded from a file have their elements again; what was computed and not
   * kept is an error when it is used. Buffers and kernels have to be made again.
   */
  async recover(): Promise<void> {
    // The engine hears of the loss when it waits, and opens nothing before that.
    await this.synchronize().catch((error: unknown) => {
      if (!(error instanceof WeftError) || error.code !== "device_lost") throw error;
    });
    await this.engine.open(() => this.engine.wait("weft_device_recover", this.handle), (device) => this.#watch(device));
    this.dispatchEvent(new Event("recovered"));
  }

  /** The number by which C functions know the device. */
  get handle(): number {
    if (this.#handle === 0) throw new WeftError("invalid_handle", "This device is closed.");
    return this.#handle;
  }

  get device(): Device {
    return this;
  }

  /** The browser's own GPUDevice. */
  get gpuDevice(): BrowserDevice | undefined {
    return this.#browser;
  }

  get info(): DeviceInfo {
    return call(this, (frame) => frame.ask("weft_device_get_info", this.handle, structs.weft_device_info));
  }

  /** What the device is good at, for sizes of one's own kernels and batches. */
  get hints(): DeviceHints {
    return call(this, (frame) => frame.ask("weft_device_get_hints", this.handle, structs.weft_device_hints));
  }

  /** A tensor with the given values: a number, nested lists, or a typed array with its shape. */
  tensor(values: Nested | ArrayBufferView, shape?: readonly number[], dtype?: DType): Tensor {
    const { bytes, shape: found, dtype: type } = flatten(values, shape, dtype);
    return call(this, (frame) =>
      frame.one("weft_tensor_from_data", this.handle, dtypeNumber(type), found.length, frame.i64s(found), frame.bytes(bytes), BigInt(bytes.byteLength)));
  }

  /** A tensor of equal elements. */
  full(shape: readonly number[], value: number, dtype: DType = "f32"): Tensor {
    if (typeof value !== "number" && typeof value !== "boolean") throw new WeftError("invalid_argument", `A tensor is made of numbers; ${shown(value)} is none.`);
    return call(this, (frame) =>
      frame.one("weft_tensor_full", this.handle, frame.i64s(shape), shape.length, value, frame.options(structs.weft_tensor_full_options, { dtype })));
  }
  zeros(shape: readonly number[], dtype: DType = "f32"): Tensor {
    return this.full(shape, 0, dtype);
  }
  ones(shape: readonly number[], dtype: DType = "f32"): Tensor {
    return this.full(shape, 1, dtype);
  }

  /** start, start + step, … (count of them). */
  arange(count: number, start = 0, step = 1, dtype: DType = "f32"): Tensor {
    return call(this, (frame) =>
      frame.one("weft_tensor_arange", this.handle, BigInt(count), frame.options(structs.weft_tensor_arange_options, { start, step, dtype })));
  }

  /** A tensor with memory of its own, which update() and compiled functions give new values. */
  variable(initial: Tensor): Promise<Tensor> {
    return waiting(this, async (frame) => {
      const out = frame.u32s([0]);
      await frame.wait("weft_tensor_variable", initial.handle, out);
      return frame.taken(out, 1)[0]!;
    });
  }

  /** Computes all values, then gives each to its variable. */
  update(variables: readonly Tensor[], values: readonly Tensor[]): Promise<void> {
    if (variables.length !== values.length) {
      throw new WeftError("invalid_argument", `${variables.length} variables were given ${values.length} values.`);
    }
    return waiting(this, (frame) =>
      frame.wait("weft_tensor_update", frame.tensors(variables), frame.tensors(values), variables.length));
  }

  /** Bytes on the device. */
  alloc(bytes: number): Buffer {
    return call(this, (frame) => {
      const out = frame.u32s([0]);
      this.engine.call("weft_buffer_alloc", this.handle, BigInt(bytes), out);
      return new Buffer(this, frame.view().getUint32(out, true), bytes);
    });
  }

  /** A tensor that shares the bytes of a buffer. */
  view(buffer: Buffer, shape: readonly number[], dtype: DType = "f32", offset = 0, strides?: readonly number[]): Tensor {
    return call(this, (frame) =>
      frame.one("weft_tensor_from_buffer", buffer.handle, dtypeNumber(dtype), BigInt(offset), shape.length, frame.i64s(shape),
        strides ? frame.i64s(strides) : 0));
  }

  /** Compiles a kernel of one's own. */
  kernel(source: KernelSource): Promise<Kernel> {
    return Kernel.create(this, source);
  }

  /** The tensors and texts of a safetensors or GGUF file. */
  load(file: Uint8Array | ArrayBuffer | Blob): Promise<NamedTensors> {
    return load(this, file);
  }

  /** The bytes of a file with these tensors and texts. */
  save(format: "safetensors" | "gguf", contents: Partial<NamedTensors>): Promise<Uint8Array> {
    return save(this, format, contents);
  }

  get memory(): Memory {
    return call(this, (frame) => frame.ask("weft_device_get_memory", this.handle, structs.weft_memory_info));
  }

  /** The same in more detail, with the sizes of all buffers. */
  get memoryReport(): MemoryReport {
    return memoryReport(this);
  }

  /**
   * Buffers may have so many bytes in all: unused ones make way, and then calls fail with the code "out_of_memory"; 0: as many as
   * the browser gives. When the share `near` of the limit is in use, and when a buffer does not fit and is tried once more, the
   * device dispatches `memory`, whose `detail` is a MemoryEvent: a listener may dispose of tensors, and must not compute anything.
   */
  setMemoryLimit(bytes: number, near = 0.9): void {
    this.#listener ||= memoryListener(this);
    this.engine.call("weft_device_set_memory_limit", this.handle, BigInt(bytes), near, this.#listener, 0);
  }

  /** Gives all memory that is only kept for reuse back to the browser. */
  trim(): void {
    this.engine.call("weft_device_trim", this.handle);
  }

  /** The same once what is queued is done; gives the bytes that these were. */
  defragment(): Promise<number> {
    return waiting(this, async (frame) => {
      const bytes = frame.i64s([0]);
      await frame.wait("weft_device_defragment", this.handle, bytes);
      return Number(frame.view().getBigUint64(bytes, true));
    });
  }

  /** What the device has done since the last call; it must have been opened with `profile`. Waits for what is queued. */
  async profile(): Promise<Profile> {
    const found: Profile = { table: "", trace: "" }, { module } = this.engine;
    const receive = module.addFunction((_context, table, trace) => {
      found.table = this.engine.text(table!);
      found.trace = this.engine.text(trace!);
    }, "viii");
    try {
      await this.engine.wait("weft_device_take_profile", this.handle, receive, 0);
      return found;
    } finally {
      module.removeFunction(receive);
    }
  }

  /** Waits until everything queued is done. */
  synchronize(): Promise<void> {
    return this.engine.wait("weft_device_synchronize", this.handle);
  }

  /** Gives the device back. It lives on as long as there are tensors of it. */
  close(): void {
    if (this.#handle === 0) return;
    const handle = this.#handle;
    if (this.#listener) {  // Tensors keep the device alive, and they must not call what is not there any more.
      this.engine.call("weft_device_set_memory_limit", handle, BigInt(this.memoryReport.limit), 0, 0, 0);
      this.engine.module.removeFunction(this.#listener);
    }
    this.#handle = 0;
    this.engine.call("weft_device_close", handle);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
