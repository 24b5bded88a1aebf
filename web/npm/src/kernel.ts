import { waiting } from "./call.js";
import type { Device } from "./device.js";
import { structs } from "./generated/raw.js";
import { Handle } from "./handle.js";
import type { Tensor } from "./tensor.js";

/** A kernel of one's own: its tensors are @group(0) @binding(0), (1), …, and 32-bit scalars follow in a uniform. */
export interface KernelSource {
  wgsl: string;
  entry?: string;
  label?: string;
  /** One per tensor: whether its binding is declared read_write. */
  writes: readonly boolean[];
  /** How many 32-bit scalars the uniform behind the tensors has. */
  scalars?: number;
  /** Values of `override` constants. */
  constants?: Readonly<Record<string, number>>;
}

export class Kernel extends Handle {
  /** Use device.kernel(). */
  constructor(device: Device, handle: number) {
    super(device, handle, "weft_kernel_free");
  }

  static create(device: Device, source: KernelSource): Promise<Kernel> {
    return waiting({ device }, async (frame) => {
      const layout = structs.weft_kernel_source;
      const at = frame.struct(layout, {});
      const names = Object.keys(source.constants ?? {});
      const pointers: Record<string, number> = {
        wgsl: frame.text(source.wgsl),
        entry: source.entry ? frame.text(source.entry) : 0,
        label: source.label ? frame.text(source.label) : 0,
        writes: frame.bytes(Uint8Array.from(source.writes, Number)),
        bindings: source.writes.length,
        scalars: source.scalars ?? 0,
        constantNames: frame.u32s(names.map((name) => frame.text(name))),
        constantValues: frame.f64s(Object.values(source.constants ?? {})),
        constants: names.length,
      };
      const out = frame.u32s([0]);
      for (const [name, value] of Object.entries(pointers)) {
        frame.view().setUint32(at + layout.members[name as keyof typeof layout.members][1], value, true);
      }
      await frame.wait("weft_kernel_create", device.handle, at, out);
      return new Kernel(device, frame.view().getUint32(out, true));
    });
  }

  /** Runs the kernel on dense tensors; scalars are 32-bit words of any kind. */
  run(tensors: readonly Tensor[], workgroups: readonly [number, number?, number?], scalars: ArrayBufferView = new Uint32Array()): Promise<void> {
    return waiting(this, (frame) => {
      const bytes = new Uint8Array(scalars.buffer, scalars.byteOffset, scalars.byteLength);
      const [x, y = 1, z = 1] = workgroups;
      return frame.wait("weft_kernel_run_tensors", this.handle, frame.tensors(tensors), tensors.length, frame.u32s([x, y, z]),
        frame.bytes(bytes), bytes.length / 4);
    });
  }
}
