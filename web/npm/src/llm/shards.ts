// llama.cpp measures files in 32 bits here. A larger one is shown to it as several: GGUF has files in parts, each with a header of its
// own. The headers are made here, and the weights stay where they are.
import { WeftError } from "../error.js";
import type { Bytes } from "./source.js";

/** A tensor as a header has it: what comes in front of its place (name, extents, type), and the place. */
interface Entry {
  readonly head: Uint8Array;
  readonly offset: number;
}

/** The largest file that has a size in the program; parts leave room for their headers. */
const mostBytes = 2 ** 31 - 1;
const room = 2 ** 26;
/** Bytes of values by their type; texts (8) and lists (9) have lengths. */
const sizes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
const textType = 8, listType = 9, u16Type = 2, u32Type = 4, i32Type = 5;

/** Reads numbers and texts one after the other, and the file in blocks. */
class Reader {
  readonly #bytes: Bytes;
  #block = new Uint8Array();
  #blockAt = 0;
  at = 0;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  take(length: number): DataView {
    if (this.at + length > this.#bytes.size) throw new WeftError("io", `This GGUF file ends inside of its header, after ${this.#bytes.size} bytes.`);
    if (this.at < this.#blockAt || this.at + length > this.#blockAt + this.#block.length) {
      this.#blockAt = this.at;
      this.#block = new Uint8Array(this.#bytes.read(this.at, Math.min(Math.max(length, 1 << 20), this.#bytes.size - this.at)));
    }
    const view = new DataView(this.#block.buffer, this.at - this.#blockAt, length);
    this.at += length;
    return view;
  }

  u32(): number {
    return this.take(4).getUint32(0, true);
  }
  u64(): number {
    return Number(this.take(8).getBigUint64(0, true));
  }
  text(): string {
    return new TextDecoder().decode(this.take(this.u64()));
  }

  /** Passes over a value. */
  skip(type: number): void {
    if (type === textType) {
      const length = this.u64();
      this.at += length;
    } else if (type === listType) {
      const element = this.u32(), count = this.u64();
      if (element < sizes.length && sizes[element]! > 0) this.at += sizes[element]! * count;
      else for (let i = 0; i < count; ++i) this.skip(element);
    } else if (type < sizes.length) {
      this.at += sizes[type]!;
    } else {
      throw new WeftError("io", `This GGUF file has a value of the unknown type ${type}.`);
    }
  }

  /** What was passed over since `from`. */
  since(from: number): Uint8Array {
    const end = this.at;
    this.at = from;
    const view = this.take(end - from);
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
  }
}

/** Bytes of numbers and texts, one after the other. */
class Writer {
  readonly #parts: Uint8Array[] = [];
  size = 0;

  bytes(part: Uint8Array): this {
    this.#parts.push(part);
    this.size += part.length;
    return this;
  }
  u32(value: number): this {
    return this.bytes(new Uint8Array(new Uint32Array([value]).buffer));
  }
  u64(value: number): this {
    return this.bytes(new Uint8Array(new BigUint64Array([BigInt(value)]).buffer));
  }
  text(value: string): this {
    const encoded = new TextEncoder().encode(value);
    return this.u64(encoded.length).bytes(encoded);
  }
  number(name: string, type: number, value: number): this {
    this.text(name).u32(type);
    return type === u16Type ? this.bytes(new Uint8Array(new Uint16Array([value]).buffer)) : this.u32(value);
  }
  /** Everything, with zeros up to a multiple of `alignment`. */
  whole(alignment: number): Uint8Array {
    const out = new Uint8Array(Math.ceil(this.size / alignment) * alignment);
    let at = 0;
    for (const part of this.#parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

/** A header, and behind it a part of a file. */
function joined(header: Uint8Array, file: Bytes, begin: number, end: number): Bytes {
  return {
    size: header.length + end - begin,
    read(position, length) {
      if (position >= header.length) return file.read(begin + position - header.length, length);
      if (position + length <= header.length) return header.subarray(position, position + length);
      const out = new Uint8Array(length), own = header.subarray(position);
      out.set(own);
      out.set(file.read(begin, length - own.length), own.length);
      return out;
    },
  };
}

/** A GGUF file as those that llama.cpp can measure: the file itself, or parts of it. */
export function shards(file: Bytes, most = mostBytes): Bytes[] {
  if (file.size <= most) return [file];
  const reader = new Reader(file), limit = most > 2 * room ? most - room : most;
  if (reader.u32() !== 0x46554747) return [file];  // Not GGUF: llama.cpp says so.
  const version = reader.u32(), tensorCount = reader.u64(), valueCount = reader.u64(), valuesAt = reader.at;
  if (version < 2 || version > 3) return [file];
  let alignment = 32;
  for (let i = 0; i < valueCount; ++i) {
    const name = reader.text(), type = reader.u32();
    if (name === "split.count") return [file];  // A part already.
    if (name === "general.alignment" && type === u32Type) alignment = reader.u32();
    else reader.skip(type);
  }
  const values = reader.since(valuesAt);
  const tensors: Entry[] = [];
  for (let i = 0; i < tensorCount; ++i) {
    const from = reader.at;
    reader.skip(textType);
    const extents = reader.u32();
    reader.at += 8 * extents + 4;
    tensors.push({ head: reader.since(from), offset: reader.u64() });
  }
  const dataAt = Math.ceil(reader.at / alignment) * alignment;
  const parts: { begin: number; end: number; tensors: Entry[] }[] = [];
  tensors.forEach((tensor, i) => {
    const end = tensors[i + 1]?.offset ?? file.size - dataAt, part = parts.at(-1);
    if (end < tensor.offset) throw new WeftError("unsupported", `A GGUF file of ${file.size} bytes must have its tensors in the order of its header; number ${i + 1} comes before number ${i}.`);
    if (end - tensor.offset > limit) throw new WeftError("unsupported", `A tensor of this model has ${end - tensor.offset} bytes; the most that WebAssembly reads at a time is ${limit}.`);
    if (part && end - part.begin <= limit) {
      part.tensors.push(tensor);
      part.end = end;
    } else {
      parts.push({ begin: tensor.offset, end, tensors: [tensor] });
    }
  });
  return parts.map((part, i) => {
    const header = new Writer().u32(0x46554747).u32(3).u64(part.tensors.length).u64((i === 0 ? valueCount : 1) + 3);
    if (i === 0) header.bytes(values);
    else header.number("general.alignment", u32Type, alignment);
    header.number("split.no", u16Type, i).number("split.count", u16Type, parts.length).number("split.tensors.count", i32Type, tensorCount);
    for (const { head, offset } of part.tensors) header.bytes(head).u64(offset - part.begin);
    return joined(header.whole(alignment), file, dataAt + part.begin, dataAt + part.end);
  });
}

/** The name of a part, as llama.cpp expects it. */
export function shardName(index: number, count: number): string {
  const digits = (value: number) => String(value).padStart(5, "0");
  return count === 1 ? "/model.gguf" : `/model-${digits(index + 1)}-of-${digits(count)}.gguf`;
}
