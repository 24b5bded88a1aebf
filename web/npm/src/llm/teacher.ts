import { WeftError } from "../error.js";
import { explained, mostLosses } from "./lost.js";
import { Program, type Place } from "./program.js";
import { open, sized, type Readable } from "./source.js";

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
  #advice = "";

  constructor(place: Place) {
    this.#place = place;
  }

  async open(source: Readable, text: string, settings: LessonSettings): Promise<LessonInfo> {
    // It is read as a whole, since all of it is going to change.
    const file = await open(source), bytes = file.read(0, file.size).slice();
    const { batch = 4, context = 128 } = settings;
    this.#advice = `The model's file has ${sized(bytes.length)}; its training needs some 16 bytes for each parameter, and more for each of ${batch} × ${context} tokens of a step. A smaller \`batch\` or \`context\` or a smaller model needs less.`;
    for (let losses = 0; ; ++losses) {
      const program = await Program.start(this.#place, {});
      this.#program = program;
      program.module.FS.writeFile("/model.gguf", bytes);
      try {
        return await program.call<LessonInfo>("weft_teach_open", { path: "/model.gguf", text, ...settings });
      } catch (error) {
        const lost = await program.wasLost();
        program.destroyDevice();
        if (!lost || losses >= mostLosses) throw explained(error, this.#advice);
      }
    }
  }

  async step(): Promise<LessonStep> {
    const program = this.#running();
    for (let losses = 0; ; ++losses) {
      try {
        return await program.call<LessonStep>("weft_teach_step");
      } catch (error) {
        // Browsers tell of a lost device a moment after the call that failed: the next one knows, and goes back.
        if (losses >= mostLosses || !(await program.wasLost())) throw explained(error, this.#advice);
      }
    }
  }

  /** The model as it is now: the bytes of a GGUF file. */
  async save(type = "q8_0"): Promise<Uint8Array> {
    const program = this.#running();
    await program.call("weft_teach_save", { path: "/taught.gguf", type }).catch((error: unknown) => {
      throw explained(error, this.#advice);
    });
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
