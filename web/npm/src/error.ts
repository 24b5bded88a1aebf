import type { Status } from "./generated/raw.js";

/** What went wrong, with a sentence that holds the values. `code` says what can be done about it. */
export class WeftError extends Error {
  override readonly name = "WeftError";
  constructor(readonly code: Status, message: string) {
    super(message);
  }
}
