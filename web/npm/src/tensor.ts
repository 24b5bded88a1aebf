import { Buffer } from "./buffer.js";
import { call, dtypeNumber, waiting } from "./call.js";
import type { Device } from "./device.js";
import { enums, structs, type DType } from "./generated/raw.js";
import * as ops from "./generated/ops.js";
import { Handle } from "./handle.js";
import type { Operand } from "./map.js";

/** What `data()` gives: f16, bf16 and quantized values are read as f32, booleans as bytes of 0 and 1. */
export type Data = Float32Array | Int32Array | Uint32Array | BigInt64Array | Int16Array | Int8Array | Uint8Array;

const arrays = {
  f32: Float32Array, i32: Int32Array, u32: Uint32Array, i64: BigInt64Array, i16: Int16Array, i8: Int8Array, u8: Uint8Array,
  bool: Uint8Array,
} as const;
const dtypes = Object.keys(enums.weft_dtype) as DType[];

/** An array on a device. Operations are noted down, and run when a value is asked for. */
export class Tensor extends Handle {
  #info: { dtype: DType; shape: readonly number[]; size: number } | undefined;

  constructor(device: Device, handle: number, owned = true) {
    super(device, handle, "weft_tensor_free", owned);
  }

  #look(): { dtype: DType; shape: readonly number[]; size: number } {
    return (this.#info ??= call(this, (frame) => {
      const layout = structs.weft_tensor_info;
      const at = frame.struct(layout, {});
      frame.engine.call("weft_tensor_get_info", this.handle, at);
      const view = frame.view();
      const rank = view.getUint32(at + layout.members.rank[1], true);
      const extent = (i: number) => Number(view.getBigInt64(at + layout.members.shape[1] + 8 * i, true));
      return {
        dtype: dtypes[view.getUint32(at + layout.members.dtype[1], true)]!,
        shape: Array.from({ length: rank }, (_, i) => extent(i)),
        size: Number(view.getBigInt64(at + layout.members.size[1], true)),
      };
    }));
  }

  get dtype(): DType {
    return this.#look().dtype;
  }
  /** The extents, outermost first. */
  get shape(): readonly number[] {
    return this.#look().shape;
  }
  /** The number of elements. */
  get size(): number {
    return this.#look().size;
  }

  /** The elements in row-major order. Runs what they are made of, and waits for it. */
  async data(): Promise<Data> {
    const dtype = (this.dtype in arrays ? this.dtype : "f32") as keyof typeof arrays;
    const kind = arrays[dtype];
    return waiting(this, async (frame) => {
      const bytes = this.size * kind.BYTES_PER_ELEMENT;
      const to = frame.alloc(bytes);
      await frame.wait("weft_tensor_read", this.handle, dtypeNumber(dtype), to, BigInt(bytes));
      return new kind(frame.engine.module.HEAPU8.slice(to, to + bytes).buffer as ArrayBuffer);
    });
  }

  /** The one element of a tensor that has one. */
  async item(): Promise<number> {
    if (this.size !== 1) throw new RangeError(`item() is for tensors of one element; this one has ${this.size}.`);
    return Number((await this.data())[0]);
  }

  /** "f32[2,3] [[1, 2, 3], [4, 5, 6]]", shortened where it is long. */
  async text(): Promise<string> {
    return waiting(this, async (frame) => {
      const length = frame.alloc(4);
      const room = 4096;
      const to = frame.alloc(room);
      await frame.wait("weft_tensor_to_text", this.handle, to, room, length);
      return frame.engine.text(to);
    });
  }

  /** Computes the tensor now, without waiting for the GPU to be done. */
  eval(): Promise<void> {
    return this.device.engine.wait("weft_tensor_eval", this.handle);
  }

  /** Keeps a copy of the elements in the page's memory, with which a lost device gets them back (Device.recover). */
  keep(): Promise<void> {
    return this.device.engine.wait("weft_tensor_keep", this.handle, 0, 0);
  }

  /** The buffer in which the computed tensor lies, its first byte in it, and the steps between neighbours. */
  buffer(): Promise<{ buffer: Buffer; offset: number; strides: number[] }> {
    return waiting(this, async (frame) => {
      const rank = this.shape.length;
      const handle = frame.u32s([0]), offset = frame.i64s([0]), strides = frame.i64s(new Array<number>(rank).fill(0));
      await frame.wait("weft_tensor_get_buffer", this.handle, handle, offset, strides);
      const size = frame.i64s([0]);
      frame.engine.call("weft_buffer_get_size", frame.view().getUint32(handle, true), size);
      const view = frame.view();
      return {
        buffer: new Buffer(this.device, view.getUint32(handle, true), Number(view.getBigInt64(size, true))),
        offset: Number(view.getBigInt64(offset, true)),
        strides: Array.from({ length: rank }, (_, i) => Number(view.getBigInt64(strides + 8 * i, true))),
      };
    });
  }

  // The functions that read best behind a tensor; all are functions of the module, too.
  add(other: Operand): Tensor { return ops.add(this, other); }
  sub(other: Operand): Tensor { return ops.sub(this, other); }
  mul(other: Operand): Tensor { return ops.mul(this, other); }
  div(other: Operand): Tensor { return ops.div(this, other); }
  matmul(other: Tensor): Tensor { return ops.matmul(this, other); }
  sum(dims?: readonly number[], keepDims?: boolean): Tensor { return ops.sum(this, dims, keepDims); }
  mean(dims?: readonly number[], keepDims?: boolean): Tensor { return ops.mean(this, dims, keepDims); }
  reshape(shape: readonly number[]): Tensor { return ops.reshape(this, shape); }
  transpose(): Tensor { return ops.transpose(this); }
  cast(dtype: DType): Tensor { return ops.cast(this, dtype); }
}
