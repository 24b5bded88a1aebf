import { WeftError } from "../error.js";
import type { Status } from "../generated/raw.js";
import type { Call, FromWorker, Told, ToWorker } from "./messages.js";

/** The page's side of a worker. */
export class InWorker {
  readonly #worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  #last = 0;
  /** Why it answers no more. */
  #over: string | undefined;

  constructor(tell: (told: Told) => void = () => undefined) {
    this.#worker.onerror = (event) => this.#fail(`The worker failed: ${event.message || "its module could not be loaded"}.`);
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if ("event" in data) return tell(data);
      const call = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ("error" in data) call?.reject(data.code ? new WeftError(data.code as Status, data.error) : new Error(data.error));
      else call?.resolve(data.value as never);
    };
  }

  ask<T>(call: Call): Promise<T> {
    if (this.#over !== undefined) return Promise.reject(new WeftError("invalid_handle", this.#over));
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#last, { resolve, reject });
      this.tell({ ...call, id: this.#last });
    });
  }

  tell(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  /** Ends it, once or again. */
  async close(): Promise<void> {
    if (this.#over !== undefined) return;
    try {
      await this.ask({ call: "close" });
    } finally {
      this.#fail("This model was closed.");
    }
  }

  #fail(message: string): void {
    this.#over ??= message;
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new WeftError("internal", message));
    this.#waiting.clear();
  }
}
