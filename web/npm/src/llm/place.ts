import type { Place } from "./program.js";

export interface PlaceOptions {
  /** Whether the model gets a worker of its own; true where there are workers, as in pages. */
  worker?: boolean;
  /** The WebGPU to use in this thread: Node has none of its own. */
  gpu?: unknown;
  /** Where weft-llm.wasm is, if it is not beside the module. */
  wasmUrl?: string | URL;
  /** The bytes of weft-llm.wasm, for this thread. */
  wasmBinary?: Uint8Array;
}

/** Where the program is, and whether it gets a worker. */
export function placeOf(options: PlaceOptions): { place: Place; worker: boolean } {
  const { gpu, wasmBinary } = options;
  const wasmUrl = options.wasmUrl === undefined ? undefined : new URL(String(options.wasmUrl), globalThis.location?.href).href;
  return {
    place: { ...(gpu !== undefined ? { gpu } : {}), ...(wasmUrl ? { wasmUrl } : {}), ...(wasmBinary ? { wasmBinary } : {}) },
    worker: options.worker ?? (typeof Worker === "function" && gpu === undefined),
  };
}
