// What emscripten's module (dist/llm/weft-llm.mjs) gives.
import type { BrowserDevice, Settings } from "../weft.mjs";

/** Functions that take a pointer to JSON and give one. */
export type Calls = "weft_llm_open" | "weft_llm_generate" | "weft_llm_embed" | "weft_llm_close" | "weft_teach_open" | "weft_teach_step" | "weft_teach_save" | "weft_teach_close";
export interface Stream {
  node: Node;
}
export interface Node {
  usedBytes: number;
  stream_ops: {
    read(stream: Stream, to: Int8Array, offset: number, length: number, position: number): number;
  };
}
export interface Module {
  wasmExports: {
    malloc(bytes: number): number;
    free(pointer: number): void;
    weft_llm_stop(): void;
  } & Record<Calls, (request: number) => Promise<number>>;
  HEAPU8: Uint8Array;
  ENV: Record<string, string>;
  FS: {
    create(path: string): Node;
    writeFile(path: string, data: Uint8Array): void;
    unlink(path: string): void;
    readFile(path: string): Uint8Array;
  };
}
export interface LlmSettings extends Settings {
  onDevice?: (device: BrowserDevice) => void;
  /** Bytes of the text that is being generated; a letter may be split between two calls. */
  onPiece?: (bytes: Uint8Array) => void;
  /** How much of the model is loaded; false stops. */
  onProgress?: (part: number) => boolean | void;
  /** Called before the program starts. */
  preRun?: ((module: Module) => void)[];
  print?: (line: string) => void;
  printErr?: (line: string) => void;
}
export default function make(settings?: LlmSettings): Promise<Module>;
