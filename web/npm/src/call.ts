import { Buffer } from "./buffer.js";
import type { Engine } from "./engine.js";
import { shown, WeftError } from "./error.js";
import { enums, type DType, type Exports, type Layout } from "./generated/raw.js";
import { Tensor } from "./tensor.js";
import type { Device } from "./device.js";

type Name = Exclude<keyof Exports, "malloc" | "free">;
type Value = number | bigint;

function listed(values: readonly number[], whole: boolean): void {
  if (!Array.isArray(values) && !ArrayBuffer.isView(values)) throw new WeftError("invalid_argument", `A list of numbers is needed; ${shown(values)} was given.`);
  for (const value of values) {
    const fits = whole ? Number.isInteger(value) || typeof value === "bigint" : typeof value === "number";
    if (!fits) throw new WeftError("invalid_argument", `A list of ${whole ? "whole " : ""}numbers is needed; ${shown(value)} is in it.`);
  }
}

/** The arguments of one C call: what lies in the program's memory for its duration. */
export class Frame {
  readonly device: Device | undefined;
  readonly engine: Engine;
  #pointers: number[] = [];

  constructor(engine: Engine, device?: Device) {
    this.engine = engine;
    this.device = device;
  }

  alloc(bytes: number): number {
    const pointer = this.engine.exports.malloc(Math.max(bytes, 1));
    if (pointer === 0) throw new WeftError("out_of_memory", `WebAssembly's memory has no room for ${bytes} bytes more.`);
    this.#pointers.push(pointer);
    return pointer;
  }

  free(): void {
    for (const pointer of this.#pointers.splice(0)) this.engine.exports.free(pointer);
  }

  view(): DataView {
    const heap = this.engine.module.HEAPU8;
    return new DataView(heap.buffer, heap.byteOffset, heap.byteLength);
  }

  bytes(data: Uint8Array): number {
    const pointer = this.alloc(data.byteLength);
    this.engine.module.HEAPU8.set(data, pointer);
    return pointer;
  }

  text(value: string): number {
    return this.bytes(new TextEncoder().encode(`${value}\0`));
  }

  u32s(values: readonly number[]): number {
    listed(values, true);
    const pointer = this.alloc(4 * values.length);
    const view = this.view();
    values.forEach((value, i) => view.setUint32(pointer + 4 * i, value, true));
    return pointer;
  }

  i32s(values: readonly number[]): number {
    return this.u32s(values);
  }

  i64s(values: readonly number[]): number {
    listed(values, true);
    const pointer = this.alloc(8 * values.length);
    const view = this.view();
    values.forEach((value, i) => view.setBigInt64(pointer + 8 * i, BigInt(value), true));
    return pointer;
  }

  f64s(values: readonly number[]): number {
    listed(values, false);
    const pointer = this.alloc(8 * values.length);
    const view = this.view();
    values.forEach((value, i) => view.setFloat64(pointer + 8 * i, value, true));
    return pointer;
  }

  tensors(values: readonly Tensor[]): number {
    if (!Array.isArray(values)) throw new WeftError("invalid_argument", `A list of tensors is needed; ${shown(values)} was given.`);
    return this.u32s(values.map((tensor) => this.of(tensor)));
  }

  /** The handle of a tensor or buffer: what is none of this engine's would be another thing's number here. */
  of(value: unknown): number {
    if (!(value instanceof Tensor || value instanceof Buffer)) throw new WeftError("invalid_argument", `A tensor is needed; ${shown(value)} was given.`);
    if (value.device.engine !== this.engine) {
      throw new WeftError("invalid_argument", "Tensors of devices with engines of their own do not meet; data() and tensor() take values from one to the other.");
    }
    return value.handle;
  }

  /** A structure with the given members, the others being zero; or several, one behind the other. */
  struct(layout: Layout, ...each: readonly object[]): number {
    const bytes = layout.size * each.length, pointer = this.alloc(bytes);
    this.engine.module.HEAPU8.fill(0, pointer, pointer + bytes);
    each.forEach((values, i) => this.#fill(pointer + layout.size * i, layout, values));
    return pointer;
  }

  /** The members of a structure that are numbers, truths or texts. */
  read<T>(layout: Layout, at: number): T {
    const view = this.view();
    return Object.fromEntries(Object.entries(layout.members).map(([name, [type, offset]]) => {
      const place = at + offset;
      if (type === "char") return [name, this.engine.text(place)];
      if (type === "bool") return [name, view.getUint8(place) !== 0];
      if (type === "double") return [name, view.getFloat64(place, true)];
      return [name, type === "uint64_t" ? Number(view.getBigUint64(place, true)) : view.getUint32(place, true)];
    })) as T;
  }

  /** Asks a function for a structure about something that the engine holds. */
  ask<T>(name: Name, handle: number, layout: Layout): T {
    const at = this.struct(layout, {});
    this.engine.call(name, handle, at);
    return this.read<T>(layout, at);
  }

  #fill(pointer: number, layout: Layout, values: object): void {
    for (const [name, value] of Object.entries(values)) {
      const member = layout.members[name];
      if (!member) throw new WeftError("invalid_argument", `There is no option \`${name}\`; there are ${Object.keys(layout.members).join(", ")}.`);
      if (value === undefined) continue;
      const [type, offset, count] = member;
      const list: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (list.length > count) throw new WeftError("invalid_argument", `\`${name}\` has ${list.length} elements, and there is room for ${count}.`);
      list.forEach((one, i) => this.#set(pointer + offset, type, i, one, name));
    }
  }

  #set(pointer: number, type: string, i: number, value: unknown, name: string): void {
    const inner = (structsByName as Record<string, Layout>)[type];
    if (inner) return this.#fill(pointer + i * inner.size, inner, value as object);
    const view = this.view();
    if (value instanceof Tensor || value instanceof Buffer) view.setUint32(pointer + 4 * i, this.of(value), true);
    else if (type === "bool") view.setUint8(pointer + i, value ? 1 : 0);
    else if (type === "float") view.setFloat32(pointer + 4 * i, Number(value), true);
    else if (type === "double") view.setFloat64(pointer + 8 * i, Number(value), true);
    else if (type === "int64_t" || type === "uint64_t") view.setBigInt64(pointer + 8 * i, BigInt(value as number), true);
    else if (type in enums) view.setUint32(pointer + 4 * i, enumNumber(enums[type as keyof typeof enums], value as never, name), true);
    else view.setUint32(pointer + 4 * i, Number(value), true);
  }

  /** The options of a function: its usual values, and over them what is given. Lists become a pointer and a count. */
  options(layout: Layout, ...sources: readonly object[]): number {
    const pointer = this.struct(layout, {});
    const members = layout.members, values: Record<string, unknown> = {};
    for (const source of sources) {
      for (const [name, value] of Object.entries(source)) if (value !== undefined) values[name] = value;
    }
    this.view().setUint32(pointer + members["size"]![1], layout.size, true);
    for (const [name, value] of Object.entries(values)) {
      const member = members[name];
      if (!member) throw new WeftError("invalid_argument", `There is no option \`${name}\`; there are ${Object.keys(members).join(", ")}.`);
      const list = { "const int64_t*": "i64s", "const int32_t*": "i32s", "const uint32_t*": "u32s", "const double*": "f64s" }[member[0]] as "i64s" | undefined;
      if (list) {
        const numbers = value as readonly number[];
        this.#fill(pointer, layout, { [name]: this[list](numbers), [`${name}Count`]: numbers.length });
      } else if (member[0] === "const char*") {
        this.#fill(pointer, layout, { [name]: this.text(value as string) });
      } else {
        const flag = `has${name[0]!.toUpperCase()}${name.slice(1)}`;
        this.#fill(pointer, layout, { [name]: value, ...(flag in members ? { [flag]: true } : {}) });
      }
    }
    return pointer;
  }

  /** Calls a function whose last parameter takes one tensor. */
  one(name: Name, ...values: Value[]): Tensor {
    return this.several(1, name, ...values)[0]!;
  }

  /** The same for a function with several. */
  several(count: number, name: Name, ...values: Value[]): Tensor[] {
    const out = this.u32s(new Array<number>(count).fill(0));
    this.engine.call(name, ...values, ...Array.from({ length: count }, (_, i) => out + 4 * i));
    return this.taken(out, count);
  }

  /** Calls a function that gives as many tensors as its arguments say: once to count them, and once for them. */
  list(name: Name, ...values: Value[]): Tensor[] {
    const counted = this.u32s([0]);
    try {
      this.engine.call(name, ...values, 0, 0, counted);
    } catch (error) {
      // Too little room, which is what was asked about, leaves the count behind; anything else leaves none.
      if (this.view().getUint32(counted, true) === 0) throw error;
    }
    const count = this.view().getUint32(counted, true), out = this.u32s(new Array<number>(count).fill(0));
    this.engine.call(name, ...values, count, out, counted);
    return this.taken(out, count);
  }

  /** The same with names for them; those that were not asked for are missing. */
  named<K extends string>(names: readonly K[], name: Name, ...values: Value[]): Record<K, Tensor> {
    const out = this.u32s(names.map(() => 0));
    this.engine.call(name, ...values, ...names.map((_, i) => out + 4 * i));
    const made: [K, Tensor][] = [];
    for (const [i, key] of names.entries()) {
      const handle = this.view().getUint32(out + 4 * i, true);
      if (handle !== 0) made.push([key, new Tensor(this.owner(), handle)]);
    }
    return Object.fromEntries(made) as Record<K, Tensor>;
  }

  /** `count` new handles at a place in memory, as tensors. */
  taken(pointer: number, count: number): Tensor[] {
    const view = this.view();
    return Array.from({ length: count }, (_, i) => new Tensor(this.owner(), view.getUint32(pointer + 4 * i, true)));
  }

  wait(name: Name, ...values: Value[]): Promise<void> {
    return this.engine.wait(name, ...values);
  }

  owner(): Device {
    if (!this.device) throw new Error("this call has no device");
    return this.device;
  }
}

import { structs as structsByName } from "./generated/raw.js";

/** Runs one call on the device of a tensor or buffer. */
export function call<T>(on: { readonly device: Device }, body: (frame: Frame) => T): T {
  if (!on?.device) throw new WeftError("invalid_argument", `A tensor is needed; ${shown(on)} was given.`);
  const frame = new Frame(on.device.engine, on.device);
  try {
    return body(frame);
  } finally {
    frame.free();
  }
}

/** The same for a call that waits: its arguments stay until it is done. */
export async function waiting<T>(on: { readonly device: Device }, body: (frame: Frame) => Promise<T>): Promise<T> {
  const frame = new Frame(on.device.engine, on.device);
  try {
    return await body(frame);
  } finally {
    frame.free();
  }
}

export function first<T>(values: readonly T[]): T {
  const value = values[0];
  if (value === undefined) throw new WeftError("invalid_argument", "At least one tensor is needed.");
  return value;
}

export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor;
}

export function dtypeNumber(dtype: DType): number {
  return enumNumber(enums.weft_dtype, dtype, "dtype");
}

export function enumNumber<E extends Readonly<Record<string, number>>>(values: E, value: keyof E & string, name: string): number {
  const number = values[value];
  if (number === undefined) throw new WeftError("invalid_argument", `\`${name}\` is "${value}"; it can be ${Object.keys(values).join(", ")}.`);
  return number;
}
