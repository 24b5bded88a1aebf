import { shown, WeftError } from "../error.js";
import { InWorker } from "./in_worker.js";
import { placeOf, type PlaceOptions } from "./place.js";
import { checked, texts } from "./request.js";
import { Runner, type Embedded, type Events, type Finished, type ModelSettings, type Opened, type Request } from "./runner.js";
import type { JsonSchema } from "./schema.js";
import { readable, type DownloadOptions, type ModelSource, type Readable } from "./source.js";

export { cachedModels, deleteCachedModels, download, type Bytes, type CachedModel, type DownloadOptions, type ModelSource } from "./source.js";
export { Lesson } from "./lesson.js";
export type { PlaceOptions } from "./place.js";
export { grammarOf, type JsonSchema } from "./schema.js";
export type { ModelSettings } from "./runner.js";
export type { LessonInfo, LessonSettings, LessonStep } from "./teacher.js";

export interface LoadOptions extends ModelSettings, DownloadOptions, PlaceOptions {
  /** Called with 0 to 1 while the weights go to the GPU. */
  onProgress?: (part: number) => void;
}

/** A text, or the texts that it is made of. */
export type Content = string | readonly { type: "text"; text: string }[];

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: Content;
}

/** How tokens are chosen, and when it is enough. */
export interface SamplingOptions {
  /** Goes back to whoever asks for it: there is one model. */
  model?: string;
  /** Most tokens of the answer; 512. `max_tokens` is the older name. */
  max_completion_tokens?: number;
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
  /** The answer is JSON, of any kind or of a schema (see grammarOf for what it may say). */
  response_format?: { type: "text" } | { type: "json_object" } | { type: "json_schema"; json_schema: { name?: string; schema: JsonSchema } };
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
  /** Those that were not read, because a conversation that was kept begins with them. */
  prompt_tokens_details: { cached_tokens: number };
  /** How often the context was full and lost its middle (see `contextShift`). */
  context_shifts: number;
  completion_tokens: number;
  total_tokens: number;
  /** Tokens per second. */
  prompt_rate: number;
  generation_rate: number;
}

export type FinishReason = "stop" | "length" | "abort";
/** What every answer begins with: a name of its own, the second at which it was asked for (since 1970), and whose it is. */
interface Head {
  id: string;
  created: number;
  model: string;
}
export interface ChatCompletion extends Head {
  object: "chat.completion";
  choices: [{ index: 0; message: { role: "assistant"; content: string }; finish_reason: FinishReason }];
  usage: Usage;
}
export interface ChatCompletionChunk extends Head {
  object: "chat.completion.chunk";
  choices: [{ index: 0; delta: { role?: "assistant"; content?: string }; finish_reason: FinishReason | null }];
  /** In the last one. */
  usage?: Usage;
}
export interface Completion extends Head {
  object: "text_completion";
  choices: [{ index: 0; text: string; finish_reason: FinishReason }];
  usage: Usage;
}

export interface EmbeddingRequest {
  model?: string;
  input: string | readonly string[];
}
export interface Embeddings {
  object: "list";
  model: string;
  data: { object: "embedding"; index: number; embedding: number[] }[];
  usage: { prompt_tokens: number; total_tokens: number };
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
  embed(input: readonly string[]): Promise<Embedded>;
  profile(): Promise<{ table: string; trace: string }>;
  stop(): void;
  close(): Promise<void>;
  loseForTest(): void;
}

/** The name of a source, where it has one. */
function nameOf(source: ModelSource): string {
  if (typeof source === "string" || source instanceof URL) return decodeURIComponent(String(source).replace(/[?#].*$/, "").split("/").pop()!) || String(source);
  return (source as { name?: string }).name ?? "model";
}

function inWorker(source: Readable, settings: ModelSettings, wasmUrl: string | undefined, events: Events): Side {
  const worker = new InWorker((told) => {
    if (told.event === "text") events.onText?.(told.text);
    else if (told.event === "progress") events.onProgress?.(told.part);
    else if (told.event === "lost") events.onLost?.(told.reason);
    else events.onRecovered?.();
  });
  return {
    open: () => worker.ask({ call: "open", source, settings, wasmUrl }),
    generate: (request) => worker.ask({ call: "generate", request }),
    embed: (input) => worker.ask({ call: "embed", input }),
    async profile() {
      const found = await worker.ask<{ table: string; trace: string }>({ call: "profile" });
      await worker.close();
      return found;
    },
    stop: () => worker.tell({ call: "stop" }),
    loseForTest: () => worker.tell({ call: "loseForTest" }),
    close: () => worker.close(),
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
  /** The name of the file or of the URL. */
  readonly name: string;

  private constructor(source: Readable, options: LoadOptions, name: string) {
    super();
    this.name = name;
    const { context, cacheType, chatTemplate, conversations, contextShift, verbose, profile, caps, fileBytes } = options;
    const settings: ModelSettings = Object.fromEntries(Object.entries({ context, cacheType, chatTemplate, conversations, contextShift, verbose, profile, caps, fileBytes }).filter(([, value]) => value !== undefined));
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
    const { context } = options;
    if (context !== undefined && !(Number.isInteger(context) && context > 0)) {
      throw new WeftError("invalid_argument", `\`context\` is a whole number from 1; ${shown(context)} was given.`);
    }
    const file = await readable(source, options);
    options.signal?.throwIfAborted();
    const model = new LanguageModel(file, options, nameOf(source));
    try {
      model.#opened = await model.#side.open();
    } catch (error) {
      await model.#side.close().catch(() => undefined);  // A worker would stay otherwise.
      throw error;
    }
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
      const head = this.#head("cmpl");
      const { text, finish, usage } = await this.#generate(request);
      return { ...head, object: "text_completion", choices: [{ index: 0, text, finish_reason: finish }], usage };
    },
  };

  /** What texts mean, as vectors of length 1: as the model computes them, or else the mean over their tokens. */
  readonly embeddings = {
    create: async ({ input }: EmbeddingRequest): Promise<Embeddings> => {
      const { vectors, tokens } = await this.#turn(() => this.#side.embed(texts("input", input)));
      return { object: "list", model: this.name, data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })), usage: { prompt_tokens: tokens, total_tokens: tokens } };
    },
  };

  /**
   * Has the kernels compiled that answers need, so that the first one comes as quickly as the others: prompts of different
   * lengths have kernels of their own. What is asked for in the meantime does not wait for all of it.
   */
  async warmUp(): Promise<void> {
    for (const prompt of ["One", "Some words more than before", "A text that is long enough to be read with the kernels for long texts, as most prompts are."]) {
      await this.#generate({ prompt, max_tokens: 2, temperature: 0 });
    }
  }

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
    const head = this.#head("chatcmpl");
    const { text, finish, usage } = await this.#generate(request);
    return { ...head, object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: finish }], usage };
  }

  async *#chunks(request: ChatRequest): AsyncGenerator<ChatCompletionChunk> {
    const pieces = this.stream(request), head = this.#head("chatcmpl");
    const chunk = (delta: { role?: "assistant"; content?: string }, finish: FinishReason | null): ChatCompletionChunk =>
      ({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] });
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

  #head(kind: string): Head {
    return { id: `${kind}-${globalThis.crypto.getRandomValues(new BigUint64Array(2)).join("")}`, created: Math.floor(Date.now() / 1000), model: this.name };
  }

  /** One answer at a time; others wait their turn. */
  #generate(request: (ChatRequest | CompletionRequest) & { stream?: boolean }, onText?: (text: string) => void): Promise<Result> {
    return this.#turn(() => this.#answer(request, onText));
  }

  #turn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #answer(request: ChatRequest | CompletionRequest, onText?: (text: string) => void): Promise<Result> {
    const { signal } = request;
    signal?.throwIfAborted();
    const { options, ends } = checked(request);
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
          prompt_tokens: done.prompt_tokens + done.cached_tokens, prompt_tokens_details: { cached_tokens: done.cached_tokens },
          completion_tokens: done.completion_tokens, total_tokens: done.prompt_tokens + done.cached_tokens + done.completion_tokens, context_shifts: done.shifts,
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
