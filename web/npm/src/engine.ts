import { earlyAdapter } from "./adapter.js";
import { WeftError } from "./error.js";
import { enums, waits, type Exports, type Status } from "./generated/raw.js";
import make, { type BrowserDevice, type Module } from "./weft.mjs";

type Name = Exclude<keyof Exports, "malloc" | "free">;
/** A C function; those that may wait give a promise of the status. */
type Call = (...values: (number | bigint)[]) => number;

const names = Object.keys(enums.weft_status) as Status[];

/** How the engine is loaded. */
export interface LoadOptions {
  /** The WebGPU to use; `navigator.gpu` if nothing is given. Node has none: hand over that of the `webgpu` package. */
  gpu?: unknown;
  /** Where weft.wasm is, if it is not beside the module. */
  wasmUrl?: string | URL;
  /** The bytes of weft.wasm, for where it cannot be fetched. */
  wasmBinary?: Uint8Array;
}

/** The WebAssembly module. One per page is enough; devices share it. */
export class Engine {
  readonly module: Module;
  #opening: Promise<unknown> = Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(module: Module) {
    this.module = module;
  }

  /** Loads the engine; `program` is another one with the same functions and more. */
  static async load(options: LoadOptions = {}, program: typeof make = make): Promise<Engine> {
    if (!("Suspending" in WebAssembly)) {
      throw new WeftError("unsupported", "This browser has no JavaScript Promise Integration (WebAssembly.Suspending), which Weft waits with; Chromium 137, Firefox 153 and Node 24 have it.");
    }
    return new Engine(await program({
      ...earlyAdapter(options.gpu),
      ...(options.gpu !== undefined ? { gpu: options.gpu } : {}),
      ...(options.wasmBinary ? { wasmBinary: options.wasmBinary } : {}),
      ...(options.wasmUrl ? { locateFile: () => String(options.wasmUrl) } : {}),
    }));
  }

  /** The C functions as they are: numbers in, a status out. */
  get exports(): Exports {
    return this.module.wasmExports as unknown as Exports;
  }

  /** Calls a function that only notes work down. */
  call(name: Name, ...values: (number | bigint)[]): void {
    if (waits.has(name)) throw new Error(`${name} may wait for the GPU: use wait()`);
    this.check((this.exports[name] as Call)(...values));
  }

  /**
   * Calls a function that may wait for the GPU. One such call runs at a time, in the order in which they were made: the
   * program has one stack, and a second call that suspends would write over the first one's.
   */
  wait(name: Name, ...values: (number | bigint)[]): Promise<void> {
    return this.waitFor(() => (this.exports[name] as Call)(...values));
  }

  /** The same for a function that is not among `exports`. */
  waitFor(run: () => number | Promise<number>): Promise<void> {
    return this.queue(async () => this.check(await run()));
  }

  /** Runs `work` when everything queued before it is done. It must not queue anything itself. */
  queue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Opens a device; `opened` is called with the browser's own object. */
  open(work: () => Promise<void>, opened: (device: BrowserDevice) => void): Promise<void> {
    const turn = this.#opening.then(async () => {
      this.module.onDevice = opened;
      await work();
    });
    this.#opening = turn.catch(() => undefined);
    return turn;
  }

  /** A text that ends with 0. */
  text(pointer: number): string {
    const bytes = this.module.HEAPU8;
    return new TextDecoder().decode(bytes.slice(pointer, bytes.indexOf(0, pointer)));
  }

  /** Throws what a status other than 0 stands for. */
  check(status: number): void {
    if (status !== 0) throw new WeftError(names[status] ?? "internal", this.text(this.exports.weft_last_error()));
  }
}
