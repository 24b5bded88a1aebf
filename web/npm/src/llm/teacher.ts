import { WeftError } from "../error.js";
import { Program, type Place } from "./program.js";
import { open, type ModelSource } from "./source.js";

/** How a model is taught. */
export interface LessonSettings {
  /** Steps of the training; 100. */
  steps?: number;
  /** The highest learning rate; 2e-4. */
  rate?: number;
  /** Sequences in one step; 4. */
  batch?: number;
  /** Tokens of a sequence; 128. */
  context?: number;
  /** Steps between snapshots, from which it goes on after a lost device; 10. */
  snapshot?: number;
}

export interface LessonInfo {
  parameters: number;
  /** Of the text. */
  tokens: number;
  steps: number;
  device: string;
}

/** What one step came to. After a lost device there is no loss: the training has gone back to `step`. */
export interface LessonStep {
  step: number;
  loss?: number;
  recovered?: boolean;
}

/** Trains a model further, in this thread. */
export class Teacher {
  readonly #place: Place;
  #program: Program | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  async open(source: Exclude<ModelSource, URL | string>, text: string, settings: LessonSettings): Promise<LessonInfo> {
    const program = await Program.start(this.#place, {});
    // It is read as a whole, since all of it is going to change.
    const file = await open(source);
    program.module.FS.writeFile("/model.gguf", file.read(0, file.size));
    this.#program = program;
    return program.call("weft_teach_open", { path: "/model.gguf", text, ...settings });
  }

  async step(): Promise<LessonStep> {
    const program = this.#running();
    try {
      return await program.call("weft_teach_step");
    } catch (error) {
      // Browsers tell of a lost device a moment after the call that failed: the next one knows, and goes back.
      if (!(await program.wasLost())) throw error;
      return program.call("weft_teach_step");
    }
  }

  /** The model as it is now: the bytes of a GGUF file. */
  async save(type = "q8_0"): Promise<Uint8Array> {
    const program = this.#running();
    await program.call("weft_teach_save", { path: "/taught.gguf", type });
    const bytes = program.module.FS.readFile("/taught.gguf").slice();
    program.module.FS.unlink("/taught.gguf");
    return bytes;
  }

  async close(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    if (program && !program.lost) await program.call("weft_teach_close");
    program?.destroyDevice();
  }

  /** For tests: takes the device away, as a browser would. */
  loseForTest(): void {
    this.#program?.destroyDevice();
  }

  #running(): Program {
    if (!this.#program) throw new WeftError("invalid_handle", "This training was closed.");
    return this.#program;
  }
}
