// What emscripten's module (dist/weft.mjs) gives.
/** A GPUDevice, as far as Weft looks at it; the types of WebGPU are not everywhere. */
export interface BrowserDevice {
  readonly lost: Promise<{ message: string; reason: string }>;
  destroy(): void;
  addEventListener?(type: "uncapturederror", listener: (event: { error: { message: string } }) => void): void;
}
export interface Module {
  wasmExports: Record<string, (...values: never[]) => unknown>;
  HEAPU8: Uint8Array;
  FS: {
    writeFile(path: string, data: Uint8Array): void;
    readFile(path: string): Uint8Array;
    unlink(path: string): void;
    mkdirTree(path: string): void;
  };
  addFunction(call: (...values: number[]) => number | void, signature: string): number;
  removeFunction(pointer: number): void;
  /** Called with each GPUDevice that is opened. */
  onDevice?: (device: BrowserDevice) => void;
}
export interface Settings {
  gpu?: unknown;
  /** An adapter that has been asked for already. */
  adapter?: Promise<unknown>;
  locateFile?: (file: string) => string;
  wasmBinary?: Uint8Array;
}
export default function make(settings?: Settings): Promise<Module>;
