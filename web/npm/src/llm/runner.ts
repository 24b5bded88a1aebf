import { WeftError } from "../error.js";
import { explained, mostLosses } from "./lost.js";
import { Program, type Place } from "./program.js";
import { shardName, shards } from "./shards.js";
import { open, sized, type Bytes, type Readable } from "./source.js";

/** How a model is opened. */
export interface ModelSettings {
  /** Tokens of the context: prompt and answer together; 4096, or as many as the model knows. */
  context?: number;
  /** The type of keys and values: "f16", "q8_0", … */
  cacheType?: string;
  /** A template that llama.cpp knows by name, in place of the model's own. */
  chatTemplate?: string;
  /** Conversations that are kept, in one context: one that goes on is not read from its beginning again; 4. */
  conversations?: number;
  /**
   * Whether a full context loses its middle, so that answers can be longer than it, and a conversation that has become too long
   * its oldest messages. Otherwise the first ends the answer and the second is an error. Models with a recurrent state cannot.
   */
  contextShift?: boolean;
  /** Shows what llama.cpp logs in the console. */
  verbose?: boolean;
  /** Measures every kernel from now on: profile() tells where the time goes. Slower. */
  profile?: boolean;
  /** Capabilities of the GPU to leave unused, for example "-f16,-subgroups". */
  caps?: string;
  /** For tests: the largest file that llama.cpp is shown; a larger one appears as several. 2 GB, which is what it can measure here. */
  fileBytes?: number;
}

/** What one answer is made from: llama.cpp's names. */
export interface Request {
  messages?: readonly { role: string; content: string }[];
  prompt?: string;
  max_tokens?: number;
  [option: string]: unknown;
}

export interface Finished {
  /** Those that were read. */
  prompt_tokens: number;
  /** Those that a kept conversation begins with, and were not read again. */
  cached_tokens: number;
  /** How often the context was full and lost its middle. */
  shifts: number;
  completion_tokens: number;
  prompt_seconds: number;
  generation_seconds: number;
  /** Whether stop() ended it. */
  stopped: boolean;
  /** Whether it ended because there were enough tokens, or no room for more. */
  length: boolean;
}

export interface Opened {
  description: string;
  /** Whether the model has a chat template that is known. Without one it continues the last message. */
  chat: boolean;
}

/** Vectors of texts. */
export interface Embedded {
  vectors: number[][];
  tokens: number;
}

/** Called while a call is under way. */
export interface Events {
  onText?: (text: string) => void;
  onProgress?: (part: number) => void;
  onLost?: (reason: string) => void;
  onRecovered?: () => void;
}

/**
 * A model in this thread. After a lost device the whole program is started anew: weights come from the source again, and what
 * had been generated is read as part of the prompt.
 */
export class Runner {
  readonly #place: Place;
  readonly #source: Readable;
  readonly #settings: ModelSettings;
  readonly #events: Events;
  #program: Program | undefined;
  #starting: Program | undefined;
  /** Calls that are under way: they find out by themselves that the device was lost. */
  #busy = 0;
  #reloading: Promise<void> = Promise.resolve();
  #bytes = 0;
  #stop = false;
  #onPiece: ((bytes: Uint8Array) => void) | undefined;

  constructor(place: Place, source: Readable, settings: ModelSettings, events: Events) {
    this.#place = place;
    this.#source = source;
    this.#settings = settings;
    this.#events = events;
  }

  /** Loads the model; once more where the GPU is taken away meanwhile. */
  async open(): Promise<Opened> {
    const file = await open(this.#source), first = this.#program === undefined;
    this.#bytes = file.size;
    for (let losses = 0; ; ++losses) {
      const program = await this.#start();
      try {
        const answer = await this.#load(program, file);
        if (!program.lost) {
          this.#program = program;
          this.#events.onProgress?.(1);
          if (first && losses > 0) this.#events.onRecovered?.();
          return answer;
        }
        if (losses >= mostLosses) throw new WeftError("device_lost", "The GPU was taken away while the model was loaded, again and again.");
      } catch (error) {
        const lost = await program.wasLost();
        program.destroyDevice();
        if (!lost || losses >= mostLosses) throw this.#explained(error);
      } finally {
        this.#starting = undefined;
      }
    }
  }

  async #start(): Promise<Program> {
    const { verbose = false, profile, caps } = this.#settings;
    const program = await Program.start(this.#place, {
      onPiece: (bytes) => this.#onPiece?.(bytes),
      onProgress: (part) => this.#events.onProgress?.(part),
      onLost: (reason) => {
        if (this.#program !== program && this.#starting !== program) return;
        this.#events.onLost?.(reason);
        if (this.#program === program && this.#busy === 0) this.#reloading = this.#reload();
      },
    }, { ...(profile ? { WEFT_PROFILE: "/trace.json" } : {}), ...(caps ? { WEFT_CAPS: caps } : {}) }, verbose);
    this.#starting = program;
    return program;
  }

  #load(program: Program, file: Bytes): Promise<Opened> {
    const { verbose = false, context, cacheType, chatTemplate, conversations = 4, contextShift, fileBytes } = this.#settings;
    const parts = shards(file, fileBytes);
    parts.forEach((part, i) => program.mount(shardName(i, parts.length), part));
    return program.call<Opened>("weft_llm_open", {
      path: shardName(0, parts.length), context, cache_type: cacheType, chat_template: chatTemplate, verbose, conversations, shift: contextShift,
    });
  }

  /** The model again after its device was lost while nothing was asked of it. */
  async #reload(): Promise<void> {
    try {
      await this.open();
      this.#events.onRecovered?.();
    } catch {
      // The next call tries again, and says what is wrong.
    }
  }

  /** One call at a time, which waits for a model that is being loaded again. */
  async #call<T>(work: () => Promise<T>): Promise<T> {
    ++this.#busy;
    try {
      await this.#reloading;
      return await work();
    } finally {
      --this.#busy;
    }
  }

  #explained(error: unknown): unknown {
    const { context } = this.#settings;
    return explained(error, `The model's file has ${sized(this.#bytes)}, and the keys and values of ${context === undefined ? "its context" : `a context of ${context} tokens`} come on top. A file with fewer bits per weight, a model with fewer parameters, a smaller \`context\` or \`cacheType: "q8_0"\` needs less.`);
  }

  /** Generates; pieces of the text go to the events. */
  generate(request: Request): Promise<Finished> {
    this.#stop = false;
    return this.#call(() => this.#generate(request));
  }

  async #generate(request: Request): Promise<Finished> {
    const total: Finished = { prompt_tokens: 0, cached_tokens: 0, shifts: 0, completion_tokens: 0, prompt_seconds: 0, generation_seconds: 0, stopped: false, length: false };
    const decoder = new TextDecoder();
    const wanted = request.max_tokens ?? 512;
    if (this.#stop) return { ...total, stopped: true };  // While the model was loaded again.
    let text = "", tokens = 0;
    this.#onPiece = (bytes) => {
      if (this.#program?.lost) return;  // Made of what a lost device left behind.
      ++tokens;
      const piece = decoder.decode(bytes, { stream: true });
      text += piece;
      if (piece) this.#events.onText?.(piece);
    };
    for (let attempt = 0; ; ++attempt) {
      const program = this.#running(), start = performance.now();
      try {
        const part = await program.call<Finished>("weft_llm_generate", { ...request, begun: text, max_tokens: wanted - tokens });
        if (program.lost) throw new WeftError("device_lost", "The GPU was taken away.");
        const rest = decoder.decode();
        if (rest) this.#events.onText?.(rest);
        return {
          prompt_tokens: total.prompt_tokens + part.prompt_tokens, cached_tokens: part.cached_tokens, shifts: part.shifts, completion_tokens: tokens,
          prompt_seconds: total.prompt_seconds + part.prompt_seconds,
          generation_seconds: total.generation_seconds + part.generation_seconds,
          stopped: part.stopped, length: part.length,
        };
      } catch (error) {
        if (attempt >= mostLosses || !(await program.wasLost())) throw this.#explained(error);
        await this.open();
        total.generation_seconds += (performance.now() - start) / 1000;
        this.#events.onRecovered?.();
        if (this.#stop || tokens >= wanted) return { ...total, completion_tokens: tokens, stopped: this.#stop, length: tokens >= wanted };
      }
    }
  }

  /** The vectors of texts; after a lost device they are computed again. */
  embed(input: readonly string[]): Promise<Embedded> {
    return this.#call(async () => {
      for (let attempt = 0; ; ++attempt) {
        const program = this.#running();
        try {
          const vectors = await program.call<Embedded>("weft_llm_embed", { input });
          if (program.lost) throw new WeftError("device_lost", "The GPU was taken away.");
          return vectors;
        } catch (error) {
          if (attempt >= mostLosses || !(await program.wasLost())) throw this.#explained(error);
          await this.open();
          this.#events.onRecovered?.();
        }
      }
    });
  }

  /** Ends what is being generated at its next token. */
  stop(): void {
    this.#stop = true;
    this.#program?.module.wasmExports.weft_llm_stop();
  }

  /** Where the time went since the model was opened, as a table and as a trace for Perfetto; closes the model. */
  async profile(): Promise<{ table: string; trace: string }> {
    if (!this.#settings.profile) throw new WeftError("invalid_argument", "Load the model with `profile: true` to know where the time goes.");
    await this.#reloading;
    const { module, lines } = this.#running();
    lines.length = 0;
    await this.close();
    return { table: lines.join("\n"), trace: new TextDecoder().decode(module.FS.readFile("/trace.json")) };
  }

  async close(): Promise<void> {
    await this.#reloading;
    const program = this.#program;
    this.#program = undefined;
    if (program && !program.lost) await program.call("weft_llm_close");
    program?.destroyDevice();
  }

  /** For tests: takes the device away, as a browser would. */
  loseForTest(): void {
    (this.#starting ?? this.#program)?.destroyDevice();
  }

  #running(): Program {
    if (!this.#program) throw new WeftError("invalid_handle", "This model was closed.");
    return this.#program;
  }
}
