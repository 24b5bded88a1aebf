import { shown, WeftError } from "./error.js";

interface Adapters {
  requestAdapter(options: { powerPreference: "high-performance" }): Promise<unknown>;
}

/** Asks for the adapter now, so that the browser looks for it while the program is loaded; what goes wrong is said later. */
export function earlyAdapter(gpu: unknown): { adapter?: Promise<unknown> } {
  const given = (gpu ?? (globalThis.navigator as { gpu?: unknown } | undefined)?.gpu) as Adapters | undefined;
  if (given && typeof given.requestAdapter !== "function") throw new WeftError("invalid_argument", `\`gpu\` is ${shown(given)} without requestAdapter().`);
  const adapter = given?.requestAdapter({ powerPreference: "high-performance" });
  adapter?.catch(() => undefined);
  return adapter ? { adapter } : {};
}
