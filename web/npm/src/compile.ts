import { call, waiting } from "./call.js";
import type { Device } from "./device.js";
import { structs } from "./generated/raw.js";
import { disposing, Handle } from "./handle.js";
import { Tensor } from "./tensor.js";

/**
 * A function to compile. It is called once per set of input shapes, with stand-ins that have no values; tensors that are made
 * in it end with the call.
 */
export type Traced = (...inputs: Tensor[]) => Tensor | readonly Tensor[];

export interface CompileOptions {
  /** How many tensors the function gives before the new values of the variables; 1 if nothing is said. */
  results?: number;
  /** Variables that get new values at the end of each call: the tensors that the function gives after its results. */
  variables?: readonly Tensor[];
  /** Passes to leave out, by name, with commas between them, or "all". */
  without?: string;
  /** Sets of input shapes to keep ready. */
  mostVariants?: number;
}

/** What the last call of a compiled function ran. */
export interface CompileReport {
  operations: number;
  dispatches: number;
  arenaBytes: number;
  boundBytes: number;
  variants: number;
  built: number;
}

/** A function on tensors that is planned at its first call and then only replayed. */
export class Compiled extends Handle {
  readonly #results: number;
  readonly #failed: { error?: unknown };

  /** Use compile(). */
  constructor(device: Device, handle: number, results: number, failed: { error?: unknown }, also: () => void) {
    super(device, handle, "weft_compiled_free", true, also);
    this.#results = results;
    this.#failed = failed;
  }

  /** Runs the function. */
  run(...inputs: Tensor[]): Promise<Tensor[]> {
    return waiting(this, async (frame) => {
      const out = frame.u32s(new Array<number>(this.#results).fill(0));
      try {
        await frame.wait("weft_compiled_run", this.handle, frame.tensors(inputs), inputs.length, out);
      } catch (error) {
        throw this.#failed.error ?? error;
      } finally {
        delete this.#failed.error;
      }
      return frame.taken(out, this.#results);
    });
  }

  report(): CompileReport {
    return call(this, (frame) => frame.ask("weft_compiled_get_report", this.handle, structs.weft_compile_report));
  }

  /** The graph that the last call ran, one line per operation or in the DOT language. */
  text(dot = false): string {
    return call(this, (frame) => {
      const length = frame.alloc(4);
      frame.engine.call("weft_compiled_to_text", this.handle, Number(dot), 0, 0, length);
      const room = frame.view().getUint32(length, true) + 1;
      const to = frame.alloc(room);
      frame.engine.call("weft_compiled_to_text", this.handle, Number(dot), to, room, length);
      return frame.engine.text(to);
    });
  }
}

/**
 * A function as the engine calls it, with stand-ins of the inputs: a number for C, to be removed when it is no longer needed. It
 * gives `count` tensors; what it throws lies in `failed`.
 */
export function traceable(device: Device, fn: Traced, count: number, failed: { error?: unknown }): number {
  const { engine } = device;
  // What is made while the function is traced stands for values that it will have, so it ends with the trace: a variable
  // that gets a new value would compute what still wants to read its old one.
  const traced = (_context: number, inputs: number, given: number, outputs: number): number => disposing(() => {
    try {
      return call(device, (frame) => {
        const view = frame.view();
        const made = fn(...Array.from({ length: given }, (_, i) => new Tensor(device, view.getUint32(inputs + 4 * i, true), false)));
        const list: readonly Tensor[] = made instanceof Tensor ? [made] : made;
        if (list.length !== count) {
          throw new RangeError(`The function gave ${list.length} tensors; ${count} results and new values of variables were announced.`);
        }
        // The engine takes over what it is given, so it gets handles of its own.
        list.forEach((tensor, i) => {
          const out = frame.u32s([0]);
          engine.call("weft_tensor_reshape", tensor.handle, frame.i64s(tensor.shape), tensor.shape.length, out);
          frame.view().setUint32(outputs + 4 * i, frame.view().getUint32(out, true), true);
        });
        return 0;
      });
    } catch (error) {
      failed.error = error;
      return 1;
    }
  });
  return engine.module.addFunction(traced, "iiiii");
}

/**
 * Prepares a function to be run often on tensors of a device. What it gives are its results and then the new values of
 * `variables`:
 *
 *     const step = compile(device, (x, y) => { …; return [loss, newW, newB]; }, { variables: [w, b] });
 *     const [loss] = await step.run(x, y);
 */
export function compile(device: Device, fn: Traced, options: CompileOptions = {}): Compiled {
  const { engine } = device;
  const results = options.results ?? 1;
  const variables = options.variables ?? [];
  const failed: { error?: unknown } = {};
  const pointer = traceable(device, fn, results + variables.length, failed);
  return call(device, (frame) => {
    const source = frame.struct(structs.weft_function_source, {
      function: pointer, results, variables: frame.tensors(variables), variableCount: variables.length,
      without: options.without ? frame.text(options.without) : 0, mostVariants: options.mostVariants ?? 0,
    });
    const out = frame.u32s([0]);
    engine.call("weft_compile", source, out);
    return new Compiled(device, frame.view().getUint32(out, true), results, failed, () => engine.module.removeFunction(pointer));
  });
}
