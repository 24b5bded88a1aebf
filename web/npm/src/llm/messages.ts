// What a page and its worker say to each other.
import type { ModelSettings, Request } from "./runner.js";
import type { ModelSource } from "./source.js";
import type { LessonSettings } from "./teacher.js";

/** What is sent to a worker: bytes, or a file. */
export type Sent = Exclude<ModelSource, URL | string>;

export type Call =
  | { call: "open"; source: Sent; settings: ModelSettings; wasmUrl: string | undefined }
  | { call: "generate"; request: Request }
  | { call: "embed"; input: readonly string[] }
  | { call: "profile" }
  | { call: "teach"; source: Sent; text: string; settings: LessonSettings; wasmUrl: string | undefined }
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
