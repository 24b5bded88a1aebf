import { InWorker } from "./in_worker.js";
import { placeOf, type PlaceOptions } from "./place.js";
import { readable, type DownloadOptions, type ModelSource } from "./source.js";
import { Teacher, type LessonInfo, type LessonSettings, type LessonStep } from "./teacher.js";

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
    const file = await readable(source, options);
    const { steps, rate, batch, context, snapshot } = options, settings: LessonSettings = Object.fromEntries(Object.entries({ steps, rate, batch, context, snapshot }).filter(([, value]) => value !== undefined));
    const { place, worker } = placeOf(options);
    if (!worker) {
      const teacher = new Teacher(place);
      return new Lesson(teacher, await teacher.open(file, text, settings));
    }
    const remote = new InWorker();
    const info = await remote.ask<LessonInfo>({ call: "teach", source: file, text, settings, wasmUrl: place.wasmUrl }).catch(async (error: unknown) => {
      await remote.close().catch(() => undefined);
      throw error;
    });
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
