import { shown, WeftError } from "./error.js";
import type { DType } from "./generated/raw.js";

/** A number, or lists of lists of numbers with equal lengths. */
export type Nested = number | boolean | readonly Nested[];

const typed: readonly (readonly [DType, new (values: number) => ArrayBufferView])[] = [
  ["f32", Float32Array], ["i32", Int32Array], ["u32", Uint32Array], ["i64", BigInt64Array], ["i16", Int16Array],
  ["i8", Int8Array], ["u8", Uint8Array], ["u8", Uint8ClampedArray],
];

/** Rounds to the nearest half, ties to even. */
function half(value: number): number {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0]!;
  const sign = (bits >>> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below the least normal half all steps are 2^-24.
    const steps = Math.abs(new Float32Array([value])[0]!) * 2 ** 24, down = Math.floor(steps), rest = steps - down;
    return sign | (rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down);
  }
  const rounded = magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1);
  return sign | (rounded >>> 13);
}

function brain(value: number): number {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0]!;
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

function convert(values: readonly number[], dtype: DType): ArrayBufferView {
  switch (dtype) {
    case "f32": return Float32Array.from(values);
    case "f16": return Uint16Array.from(values, half);
    case "bf16": return Uint16Array.from(values, brain);
    case "i32": return Int32Array.from(values);
    case "u32": return Uint32Array.from(values);
    case "i64": return BigInt64Array.from(values, (value) => BigInt(value));
    case "i16": return Int16Array.from(values);
    case "i8": return Int8Array.from(values);
    case "u8": return Uint8Array.from(values);
    case "bool": return Uint8Array.from(values, (value) => Number(value !== 0));
    default: throw new WeftError("invalid_argument", `Lists of numbers cannot become ${dtype}; make f32 of them and cast() that.`);
  }
}

function walk(values: Nested, depth: number, shape: number[], out: number[]): void {
  if (!Array.isArray(values)) {
    if (depth !== shape.length) throw new WeftError("invalid_argument", "The lists are nested to different depths.");
    if (!["number", "boolean", "bigint"].includes(typeof values)) throw new WeftError("invalid_argument", `A tensor is made of numbers; ${shown(values)} is none.`);
    out.push(Number(values));
    return;
  }
  const list = values as readonly Nested[];
  if (out.length === 0 && depth === shape.length) shape.push(list.length);
  if (shape[depth] !== list.length) {
    throw new WeftError("invalid_argument", `A list has ${list.length} elements where others have ${String(shape[depth])}.`);
  }
  for (const one of list) walk(one, depth + 1, shape, out);
}

/** Values as bytes, with their shape and type. */
export function flatten(values: Nested | ArrayBufferView, shape?: readonly number[], dtype?: DType): { bytes: Uint8Array; shape: readonly number[]; dtype: DType } {
  let found = shape, data: ArrayBufferView, type = dtype;
  if (ArrayBuffer.isView(values)) {
    data = values;
    const known = typed.find(([, kind]) => values instanceof kind)?.[0];
    type ??= known;
    if (!type) throw new WeftError("invalid_argument", `Say of which type the elements of a ${values.constructor.name} are.`);
    if (known && type !== known && known !== "u8") data = convert(Array.from(values as unknown as Iterable<number>, Number), type);
    if (!found) found = [(values as unknown as { length?: number }).length ?? values.byteLength];
  } else {
    const extents: number[] = [], flat: number[] = [];
    walk(values, 0, extents, flat);
    type ??= "f32";
    data = convert(flat, type);
    found ??= extents;
  }
  return { bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength), shape: found, dtype: type };
}
