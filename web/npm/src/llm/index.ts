import { InWorker } from "./in_worker.js";
import type { Sent } from "./messages.js";
import type { Place } from "./program.js";
import { Runner, type Events, type Finished, type ModelSettings, type Opened, type Request } from "./runner.js";
import { download, type DownloadOptions, type ModelSource } from "./source.js";
import { Teacher, type LessonInfo, type LessonSettings, type LessonStep } from "./teacher.js";

export { cachedModels, deleteCachedModels, download, type Bytes, type DownloadOptions, type ModelSource } from "./source.js";
export type { ModelSettings } from "./runner.js";
export type { LessonInfo, LessonSettings, LessonStep } from "./teacher.js";

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

export interface LoadOptions extends ModelSettings, DownloadOptions, PlaceOptions {
  /** Called with 0 to 1 while the weights go to the GPU. */
  onProgress?: (part: number) => void;
}

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

/** How tokens are chosen, and when it is enough. */
export interface SamplingOptions {
  max_tokens?: number;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  seed?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  repeat_penalty?: number;
  /** Texts that end the answer; they are not part of it. */
  stop?: string | readonly string[];
  /** A grammar in GBNF; the answer is a text of its rule "root". */
  grammar?: string;
  signal?: AbortSignal;
}

export interface ChatRequest extends SamplingOptions {
  messages: readonly ChatMessage[];
}
export interface CompletionRequest extends SamplingOptions {
  prompt: string;
}

/** Tokens, and how fast they came. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** Tokens per second. */
  prompt_rate: number;
  generation_rate: number;
}

export type FinishReason = "stop" | "length" | "abort";
export interface ChatCompletion {
  object: "chat.completion";
  choices: [{ index: 0; message: ChatMessage; finish_reason: FinishReason }];
  usage: Usage;
}
export interface ChatCompletionChunk {
  object: "chat.completion.chunk";
  choices: [{ index: 0; delta: { role?: "assistant"; content?: string }; finish_reason: FinishReason | null }];
  /** In the last one. */
  usage?: Usage;
}
export interface Completion {
  object: "text_completion";
  choices: [{ index: 0; text: string; finish_reason: FinishReason }];
  usage: Usage;
}

interface Result {
  text: string;
  finish: FinishReason;
  usage: Usage;
}

/** The same calls in this thread and in a worker. */
interface Side {
  open(): Promise<Opened>;
  generate(request: Request): Promise<Finished>;
  profile(): Promise<{ table: string; trace: string }>;
  stop(): void;
  close(): Promise<void>;
  loseForTest(): void;
}

function inWorker(source: Sent, settings: ModelSettings, wasmUrl: string | undefined, events: Events): Side {
  const worker = new InWorker((told) => {
    if (told.event === "text") events.onText?.(told.text);
    else if (told.event === "progress") events.onProgress?.(told.part);
    else if (told.event === "lost") events.onLost?.(told.reason);
    else events.onRecovered?.();
  });
  return {
    open: () => worker.ask({ call: "open", source, settings, wasmUrl }),
    generate: (request) => worker.ask({ call: "generate", request }),
    profile: () => worker.ask({ call: "profile" }),
    stop: () => worker.tell({ call: "stop" }),
    loseForTest: () => worker.tell({ call: "loseForTest" }),
    close: () => worker.close(),
  };
}

/** Where the program is, and whether it gets a worker. */
function placeOf(options: PlaceOptions): { place: Place; worker: boolean } {
  const { gpu, wasmBinary } = options;
  const wasmUrl = options.wasmUrl === undefined ? undefined : new URL(String(options.wasmUrl), globalThis.location?.href).href;
  return {
    place: { ...(gpu !== undefined ? { gpu } : {}), ...(wasmUrl ? { wasmUrl } : {}), ...(wasmBinary ? { wasmBinary } : {}) },
    worker: options.worker ?? (typeof Worker === "function" && gpu === undefined),
  };
}

/**
 * A language model: any GGUF file that llama.cpp knows, on the GPU. Dispatches `lost` when the browser takes the GPU away and
 * `recovered` when the model is there again; an answer under way goes on by itself.
 */
export class LanguageModel extends EventTarget {
  readonly #side: Side;
  #onText: ((text: string) => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #opened: Opened = { description: "", chat: false };

  private constructor(source: Sent, options: LoadOptions) {
    super();
    const { context, cacheType, chatTemplate, verbose, profile, caps } = options;
    const settings: ModelSettings = Object.fromEntries(Object.entries({ context, cacheType, chatTemplate, verbose, profile, caps }).filter(([, value]) => value !== undefined));
    const events: Events = {
      onText: (text) => this.#onText?.(text),
      onProgress: (part) => options.onProgress?.(part),
      onLost: (reason) => this.dispatchEvent(new CustomEvent("lost", { detail: reason })),
      onRecovered: () => this.dispatchEvent(new Event("recovered")),
    };
    const { place, worker } = placeOf(options);
    this.#side = worker ? inWorker(source, settings, place.wasmUrl, events) : new Runner(place, source, settings, events);
  }

  /** Loads a model; see ModelSource for where from. */
  static async load(source: ModelSource, options: LoadOptions = {}): Promise<LanguageModel> {
    const file = typeof source === "string" || source instanceof URL ? await download(source, options) : source;
    options.signal?.throwIfAborted();
    const model = new LanguageModel(file, options);
    model.#opened = await model.#side.open();
    return model;
  }

  /** A line about the model and where it runs. */
  get description(): string {
    return this.#opened.description;
  }
  /** Whether it has a chat template. A model without one continues the last message. */
  get chats(): boolean {
    return this.#opened.chat;
  }

  /** The API that OpenAI's clients have. */
  readonly chat = { completions: { create: this.#chat.bind(this) as ChatCreate } };
  readonly completions = {
    create: async (request: CompletionRequest): Promise<Completion> => {
      const { text, finish, usage } = await this.#generate(request);
      return { object: "text_completion", choices: [{ index: 0, text, finish_reason: finish }], usage };
    },
  };

  /** Continues a text piece by piece. */
  async *stream(request: CompletionRequest | ChatRequest): AsyncGenerator<string, Result> {
    const pieces: string[] = [];
    let wake: () => void = () => undefined, result: Result | undefined, failed: unknown;
    const leave = new AbortController();
    const signal = request.signal ? AbortSignal.any([request.signal, leave.signal]) : leave.signal;
    void this.#generate({ ...request, signal }, (text) => {
      pieces.push(text);
      wake();
    }).then((value) => { result = value; }, (error: unknown) => { failed = error; }).finally(() => wake());
    try {
      for (;;) {
        while (pieces.length > 0) yield pieces.shift()!;
        if (failed) throw failed;
        if (result) return result;
        await new Promise<void>((resolve) => { wake = resolve; });
      }
    } finally {
      leave.abort();  // Nobody listens any more.
    }
  }

  /** Where the time went, as a table and as a trace for Perfetto; the model must have been loaded with `profile: true`. Closes it. */
  profile(): Promise<{ table: string; trace: string }> {
    return this.#side.profile();
  }

  /** Gives the memory back. */
  async close(): Promise<void> {
    this.#side.stop();
    await this.#last;
    await this.#side.close();
  }

  /** For tests: takes the device away, as a browser would. */
  loseForTest(): void {
    this.#side.loseForTest();
  }

  #chat(request: ChatRequest & { stream?: boolean }): Promise<ChatCompletion> | Promise<AsyncIterable<ChatCompletionChunk>> {
    const { stream, ...rest } = request;
    return stream ? Promise.resolve(this.#chunks(rest)) : this.#whole(rest);
  }

  async #whole(request: ChatRequest): Promise<ChatCompletion> {
    const { text, finish, usage } = await this.#generate(request);
    return { object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: finish }], usage };
  }

  async *#chunks(request: ChatRequest): AsyncGenerator<ChatCompletionChunk> {
    const pieces = this.stream(request);
    const chunk = (delta: { role?: "assistant"; content?: string }, finish: FinishReason | null): ChatCompletionChunk =>
      ({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] });
    yield chunk({ role: "assistant" }, null);
    for (;;) {
      const { done, value } = await pieces.next();
      if (done) {
        yield { ...chunk({}, value.finish), usage: value.usage };
        return;
      }
      yield chunk({ content: value }, null);
    }
  }

  /** One answer at a time; others wait their turn. */
  #generate(request: (ChatRequest | CompletionRequest) & { stream?: boolean }, onText?: (text: string) => void): Promise<Result> {
    const result = this.#last.then(() => this.#answer(request, onText));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #answer(request: ChatRequest | CompletionRequest, onText?: (text: string) => void): Promise<Result> {
    const { signal, stop, ...options } = request;
    signal?.throwIfAborted();
    const ends = stop === undefined ? [] : typeof stop === "string" ? [stop] : stop;
    const longest = Math.max(0, ...ends.map((end) => end.length));
    let text = "", told = 0, ended = false;
    const tell = (to: number) => {
      if (to > told) onText?.(text.slice(told, to));
      told = Math.max(told, to);
    };
    this.#onText = (piece) => {
      if (ended) return;
      text += piece;
      const at = Math.min(...ends.map((end) => text.indexOf(end)).filter((place) => place >= 0));
      if (Number.isFinite(at)) {
        text = text.slice(0, at);
        ended = true;
        this.#side.stop();
      }
      tell(ended ? text.length : text.length - Math.max(0, longest - 1));  // What may be the beginning of an end waits.
    };
    const abort = () => this.#side.stop();
    signal?.addEventListener("abort", abort);
    try {
      const done = await this.#side.generate(options as Request);
      tell(text.length);
      const rate = (tokens: number, seconds: number) => (seconds > 0 ? tokens / seconds : 0);
      return {
        text,
        finish: ended ? "stop" : done.stopped ? "abort" : done.length ? "length" : "stop",
        usage: {
          prompt_tokens: done.prompt_tokens, completion_tokens: done.completion_tokens, total_tokens: done.prompt_tokens + done.completion_tokens,
          prompt_rate: rate(done.prompt_tokens, done.prompt_seconds), generation_rate: rate(done.completion_tokens, done.generation_seconds),
        },
      };
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#onText = undefined;
    }
  }
}

interface ChatCreate {
  (request: ChatRequest & { stream: true }): Promise<AsyncIterable<ChatCompletionChunk>>;
  (request: ChatRequest & { stream?: false }): Promise<ChatCompletion>;
}

/** The same calls in this thread and in a worker. */
interface TeachingSide {
  step(): Promise<LessonStep>;
  save(type?: string): Promise<Uint8Array>;
  close(): Promise<void>;
  loseForTest(): void;
}

/** A training of a model on a text: models that `weft train` made, such as the built-in one. */
export class Lesson {
  readonly #side: TeachingSide;
  /** The model, the text and the device. */
  readonly info: LessonInfo;

  private constructor(side: TeachingSide, info: LessonInfo) {
    this.#side = side;
    this.info = info;
  }

  static async open(source: ModelSource, text: string, options: LessonSettings & PlaceOptions & DownloadOptions = {}): Promise<Lesson> {
    const file = typeof source === "string" || source instanceof URL ? await download(source, options) : source;
    const { steps, rate, batch, context, snapshot } = options, settings: LessonSettings = Object.fromEntries(Object.entries({ steps, rate, batch, context, snapshot }).filter(([, value]) => value !== undefined));
    const { place, worker } = placeOf(options);
    if (!worker) {
      const teacher = new Teacher(place);
      return new Lesson(teacher, await teacher.open(file, text, settings));
    }
    const remote = new InWorker();
    const info = await remote.ask<LessonInfo>({ call: "teach", source: file, text, settings, wasmUrl: place.wasmUrl });
    return new Lesson({
      step: () => remote.ask({ call: "step" }),
      save: (type = "q8_0") => remote.ask({ call: "save", type }),
      close: () => remote.close(),
      loseForTest: () => remote.tell({ call: "loseForTest" }),
    }, info);
  }

  /** One step. After a lost device it goes on from its last snapshot, and says so. */
  step(): Promise<LessonStep> {
    return this.#side.step();
  }

  /** All steps that are left. */
  async *steps(): AsyncGenerator<LessonStep> {
    for (let done = 0; done < this.info.steps;) {
      const now = await this.step();
      done = now.step;
      yield now;
    }
  }

  /** The model as it is now, as a GGUF file that llama.cpp loads. Matrices are "f32", "f16" or "q8_0". */
  save(type?: "f32" | "f16" | "q8_0"): Promise<Uint8Array> {
    return this.#side.save(type);
  }

  close(): Promise<void> {
    return this.#side.close();
  }

  /** For tests: takes the device away, as a browser would. */
  loseForTest(): void {
    this.#side.loseForTest();
  }
}
