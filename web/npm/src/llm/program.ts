import { earlyAdapter } from "../adapter.js";
import { WeftError } from "../error.js";
import type { Status } from "../generated/raw.js";
import type { BrowserDevice } from "../weft.mjs";
import type { Bytes } from "./source.js";
import make, { type Calls, type Module } from "./weft-llm.mjs";

/** Where the program runs. */
export interface Place {
  gpu?: unknown;
  wasmUrl?: string;
  wasmBinary?: Uint8Array;
}

/** What it tells while a call is under way. */
export interface ProgramEvents {
  onPiece?: (bytes: Uint8Array) => void;
  onProgress?: (part: number) => void;
  onLost?: (reason: string) => void;
}

const largestPiece = 1 << 20;

/** llama.cpp and Weft in one WebAssembly program, in this thread. Calls that wait must not overlap. */
export class Program {
  readonly module: Module;
  /** What it printed. */
  readonly lines: string[];
  #device: BrowserDevice | undefined;
  #lost = false;

  private constructor(module: Module, lines: string[]) {
    this.module = module;
    this.lines = lines;
  }

  static async start({ gpu, wasmUrl, wasmBinary }: Place, events: ProgramEvents, environment: Readonly<Record<string, string>> = {}, verbose = false): Promise<Program> {
    if (!("Suspending" in WebAssembly)) {
      throw new WeftError("unsupported", "This browser has no JavaScript Promise Integration (WebAssembly.Suspending), which Weft waits with; Chromium 137, Firefox 153 and Node 24 have it.");
    }
    const lines: string[] = [];
    const module = await make({
      ...earlyAdapter(gpu),
      ...(gpu !== undefined ? { gpu } : {}),
      ...(wasmBinary ? { wasmBinary } : {}),
      ...(wasmUrl ? { locateFile: () => wasmUrl } : {}),
      preRun: [(starting) => void Object.assign(starting.ENV, environment)],
      onDevice: (device) => program.#watch(device, events),
      onPiece: (bytes) => events.onPiece?.(bytes),
      onProgress: (part) => events.onProgress?.(part),
      printErr: (line) => {
        lines.push(line);
        if (verbose) console.error(line);
      },
    });
    const program = new Program(module, lines);
    return program;
  }

  /** Whether the browser has taken the GPU away. */
  get lost(): boolean {
    return this.#lost;
  }

  /** The same, after a call that failed: browsers tell of the loss a moment later. */
  async wasLost(): Promise<boolean> {
    for (let i = 0; i < 50 && this.#device && !this.#lost; ++i) await new Promise((resolve) => setTimeout(resolve, 10));
    return this.#lost;
  }

  /** Shows bytes as a file, without copying them. */
  mount(path: string, bytes: Bytes): void {
    const node = this.module.FS.create(path);
    node.usedBytes = bytes.size;
    node.stream_ops = {
      ...node.stream_ops,
      // A tensor in pieces: whatever answers them needs no room for all of it.
      read: (_stream, to, offset, length, position) => {
        const wanted = Math.max(0, Math.min(length, bytes.size - position));
        let done = 0;
        while (done < wanted) {
          const piece = bytes.read(position + done, Math.min(wanted - done, largestPiece));
          if (piece.byteLength === 0) break;
          to.set(new Int8Array(piece.buffer, piece.byteOffset, piece.byteLength), offset + done);
          done += piece.byteLength;
        }
        return done;
      },
    };
  }

  /** Calls a function that takes and gives JSON. */
  async call<T = object>(name: Calls, request?: object): Promise<T> {
    const { module } = this, { malloc, free } = module.wasmExports;
    const bytes = new TextEncoder().encode(`${JSON.stringify(request ?? {})}\0`), pointer = malloc(bytes.length);
    if (pointer === 0) throw new WeftError("out_of_memory", `WebAssembly's memory has no room for ${bytes.length} bytes more.`);
    module.HEAPU8.set(bytes, pointer);
    try {
      const at = await module.wasmExports[name](pointer);
      const heap = module.HEAPU8, text = new TextDecoder().decode(heap.slice(at, heap.indexOf(0, at)));
      const answer = JSON.parse(text) as T & { error?: string; code?: Status };
      if (answer.error !== undefined) throw new WeftError(answer.code ?? "internal", answer.error);
      return answer;
    } finally {
      free(pointer);
    }
  }

  /** Gives the device back; for tests, as a browser takes it away. */
  destroyDevice(): void {
    this.#device?.destroy();
  }

  #watch(device: BrowserDevice, events: ProgramEvents): void {
    this.#device = device;
    this.#lost = false;
    void device.lost.then(({ message, reason }) => {
      if (this.#device !== device) return;
      this.#lost = true;
      events.onLost?.(message || reason);
    });
  }
}
