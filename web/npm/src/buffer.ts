import { waiting } from "./call.js";
import type { Device } from "./device.js";
import { Handle } from "./handle.js";

/** Bytes on a device. */
export class Buffer extends Handle {
  readonly bytes: number;

  constructor(device: Device, handle: number, bytes: number) {
    super(device, handle, "weft_buffer_free");
    this.bytes = bytes;
  }

  /** Copies bytes into the buffer. */
  write(data: ArrayBufferView, offset = 0): Promise<void> {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return waiting(this, (frame) =>
      frame.wait("weft_buffer_write", this.handle, BigInt(offset), frame.bytes(bytes), BigInt(bytes.byteLength)));
  }

  /** Copies bytes out of the buffer. */
  read(offset = 0, bytes = this.bytes - offset): Promise<Uint8Array> {
    return waiting(this, async (frame) => {
      const to = frame.alloc(bytes);
      await frame.wait("weft_buffer_read", this.handle, BigInt(offset), to, BigInt(bytes));
      return this.device.engine.module.HEAPU8.slice(to, to + bytes);
    });
  }

  /** Copies bytes to another buffer, or to another place of this one. */
  copyTo(to: Buffer, bytes = this.bytes, from = 0, offset = 0): Promise<void> {
    return waiting(this, (frame) =>
      frame.wait("weft_buffer_copy", this.handle, BigInt(from), to.handle, BigInt(offset), BigInt(bytes)));
  }

  /** Sets bytes to one value. */
  fill(value: number, offset = 0, bytes = this.bytes - offset): Promise<void> {
    return waiting(this, (frame) => frame.wait("weft_buffer_fill", this.handle, BigInt(offset), BigInt(bytes), value));
  }
}
