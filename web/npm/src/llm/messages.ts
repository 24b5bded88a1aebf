// What a page and its worker say to each other.
import type { ModelSettings, Request } from "./runner.js";
import type { Readable } from "./source.js";
import type { LessonSettings } from "./teacher.js";

export type Call =
  | { call: "open"; source: Readable; settings: ModelSettings; wasmUrl: string | undefined }
  | { call: "generate"; request: Request }
  | { call: "embed"; input: readonly string[] }
  | { call: "profile" }
  | { call: "teach"; source: Readable; text: string; settings: LessonSettings; wasmUrl: string | undefined }
  | { call: "step" }
  | { call: "save"; type: string }
  | { call: "close" };
export type ToWorker = (Call & { id: number }) | { call: "stop" } | { call: "loseForTest" };

export type Told =
  | { event: "text"; text: string }
  | { event: "progress"; part: number }
  | { event: "lost"; reason: string }
  | { event: "recovered" };
export type FromWorker = { id: number; value: unknown } | { id: number; error: string; code?: string } | Told;
