import type { Status } from "./generated/raw.js";

/** What went wrong, with a sentence that holds the values. `code` says what can be done about it. */
export class WeftError extends Error {
  override readonly name = "WeftError";
  constructor(readonly code: Status, message: string) {
    super(message);
  }
}

/** What was given, in a message. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? "a list" : value.constructor === Object ? "an object" : `a ${value.constructor?.name}`;
}
