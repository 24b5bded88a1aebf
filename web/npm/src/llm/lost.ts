// What goes wrong with a GPU: memory that is missing, and devices that are taken away.
import { WeftError } from "../error.js";

/** An error; one that says that memory is missing says how much is asked for and what would need less, too. */
export function explained(error: unknown, advice: string): unknown {
  if (!(error instanceof Error)) return error;
  const code = error instanceof WeftError ? error.code : undefined;
  if (code !== "out_of_memory" && !/out[ _-]?of[ _-]?memory|while allocating|could not be allocated/i.test(error.message)) return error;
  return new WeftError("out_of_memory", `${error.message.replace(/[.\s]*$/, ".")} ${advice}`);
}

/** How often in a row the GPU may be taken away. */
export const mostLosses = 3;
