import { WeftError } from "./error.js";
import type { Tensor } from "./tensor.js";

/** Gives named variables new values, such as those of a file. Every name must be there, and no other. */
export async function assign(named: readonly (readonly [string, Tensor])[], values: Readonly<Record<string, Tensor>>): Promise<void> {
  const names = named.map(([name]) => name);
  const missing = names.filter((name) => !(name in values)), unknown = Object.keys(values).filter((name) => !names.includes(name));
  if (missing.length + unknown.length > 0) {
    throw new WeftError("invalid_argument", `The values do not fit: ${missing.length} are missing (${missing.slice(0, 5).join(", ")}), ${unknown.length} are not known (${unknown.slice(0, 5).join(", ")}).`);
  }
  for (const [name, tensor] of named) {
    if (String(values[name]!.shape) !== String(tensor.shape)) {
      throw new WeftError("invalid_argument", `${name} has the shape [${tensor.shape.join(", ")}]; the value has [${values[name]!.shape.join(", ")}].`);
    }
  }
  const first = named[0];
  if (first) await first[1].device.update(named.map(([, tensor]) => tensor), named.map(([name]) => values[name]!));
}
