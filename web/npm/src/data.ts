import type { Device } from "./device.js";
import { WeftError } from "./error.js";
import type { DType } from "./generated/raw.js";
import type { Tensor } from "./tensor.js";

type TypedArray = Float32Array | Int32Array | Uint32Array | BigInt64Array | Uint16Array | Int16Array | Int8Array | Uint8Array | Uint8ClampedArray;

/** One property of all examples, such as pictures or labels. */
export interface Column {
  /** The elements, example after example. */
  values: TypedArray;
  /** Of one example; one number if nothing is said. */
  shape?: readonly number[];
  dtype?: DType;
}

export interface LoaderOptions {
  /** Examples of a batch; 32 if nothing is said. */
  batch?: number;
  /** Another order in each epoch, which follows from the seed and its number; true if nothing is said. */
  shuffle?: boolean;
  seed?: number | bigint;
  /** Leave out what does not fill a batch, so that all batches have one shape; true if nothing is said. */
  dropLast?: boolean;
}

const bits = (value: bigint): bigint => BigInt.asUintN(64, value);

/** splitmix64, as the native build draws orders with it: the same seed gives the same order everywhere. */
class Random {
  #state: bigint;
  constructor(seed: bigint, stream: string, index: bigint) {
    this.#state = bits(seed);
    for (const byte of new TextEncoder().encode(stream)) this.#state = this.#next() ^ BigInt(byte);
    this.#state = this.#next() ^ index;
    this.#state = this.#next();
  }
  #next(): bigint {
    this.#state = bits(this.#state + 0x9e3779b97f4a7c15n);
    let z = this.#state;
    z = bits((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = bits((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  }
  below(limit: number): number {
    return Number(this.#next() % BigInt(limit));
  }
}

/** Gives the examples of some columns in batches of tensors [batch, …shape]. */
export class Loader {
  readonly examples: number;
  /** In an epoch. */
  readonly batches: number;
  readonly #device: Device;
  readonly #columns: readonly Column[];
  readonly #options: Required<LoaderOptions>;

  constructor(device: Device, columns: readonly Column[], { batch = 32, shuffle = true, seed = 0, dropLast = true }: LoaderOptions = {}) {
    const counts = columns.map(({ values, shape = [] }) => values.length / shape.reduce((product, extent) => product * extent, 1));
    if (!columns.length || !(batch >= 1) || counts.some((count) => !Number.isInteger(count) || count !== counts[0])) {
      throw new WeftError("invalid_argument", `A Loader needs columns with equally many whole examples, and a batch of at least one; they have ${counts.join(", ") || "none"}, and the batch is ${batch}.`);
    }
    this.examples = counts[0]!;
    this.batches = dropLast ? Math.floor(this.examples / batch) : Math.ceil(this.examples / batch);
    this.#device = device;
    this.#columns = columns;
    this.#options = { batch, shuffle, seed, dropLast };
  }

  /** The batches of one epoch: a tensor per column. */
  *epoch(number = 0): Generator<Tensor[], void, undefined> {
    const { batch, shuffle, seed } = this.#options, order = Uint32Array.from({ length: this.examples }, (_, i) => i);
    if (shuffle) {
      const random = new Random(BigInt(seed), "order", BigInt(number));
      for (let i = this.examples; i > 1; --i) {
        const j = random.below(i), last = order[i - 1]!;
        order[i - 1] = order[j]!;
        order[j] = last;
      }
    }
    for (let first = 0; first < this.batches * batch; first += batch) {
      const chosen = order.subarray(first, first + batch);
      yield this.#columns.map(({ values, shape = [], dtype }) => {
        const each = values.length / this.examples, picked = values.slice(0, each * chosen.length);
        chosen.forEach((example, i) => picked.set(values.subarray(example * each, (example + 1) * each) as never, i * each));
        return this.#device.tensor(picked, [chosen.length, ...shape], dtype);
      });
    }
  }
}
