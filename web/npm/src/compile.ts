import { first, Frame, waiting } from "./call.js";
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
    return waiting(first(inputs), async (frame) => {
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
    const frame = new Frame(this.device.engine, this.device);
    try {
      const layout = structs.weft_compile_report;
      const at = frame.struct(layout, {});
      frame.engine.call("weft_compiled_get_report", this.handle, at);
      const number = (name: keyof typeof layout.members) => Number(frame.view().getBigUint64(at + layout.members[name][1], true));
      return {
        operations: number("operations"), dispatches: number("dispatches"), arenaBytes: number("arenaBytes"),
        boundBytes: number("boundBytes"), variants: number("variants"), built: number("built"),
      };
    } finally {
      frame.free();
    }
  }

  /** The graph that the last call ran, one line per operation or in the DOT language. */
  text(dot = false): string {
    const frame = new Frame(this.device.engine, this.device);
    try {
      const length = frame.alloc(4);
      frame.engine.call("weft_compiled_to_text", this.handle, Number(dot), 0, 0, length);
      const room = frame.view().getUint32(length, true) + 1;
      const to = frame.alloc(room);
      frame.engine.call("weft_compiled_to_text", this.handle, Number(dot), to, room, length);
      return frame.engine.text(to);
    } finally {
      frame.free();
    }
  }
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
  // What is made while the function is traced stands for values that it will have, so it ends with the trace: a variable
  // that gets a new value would compute what still wants to read its old one.
  const traced = (_context: number, inputs: number, count: number, outputs: number): number => disposing(() => {
    const frame = new Frame(engine, device);
    try {
      const view = frame.view();
      const given = Array.from({ length: count }, (_, i) => new Tensor(device, view.getUint32(inputs + 4 * i, true), false));
      const made = fn(...given);
      const list: readonly Tensor[] = made instanceof Tensor ? [made] : made;
      if (list.length !== results + variables.length) {
        throw new RangeError(`The function to compile gave ${list.length} tensors; ${results} results and ${variables.length} new values of variables were announced.`);
      }
      // The engine takes over what it is given, so it gets handles of its own.
      list.forEach((tensor, i) => {
        const out = frame.u32s([0]);
        engine.call("weft_tensor_reshape", tensor.handle, frame.i64s(tensor.shape), tensor.shape.length, out);
        frame.view().setUint32(outputs + 4 * i, frame.view().getUint32(out, true), true);
      });
      return 0;
    } catch (error) {
      failed.error = error;
      return 1;
    } finally {
      frame.free();
    }
  });
  const pointer = engine.module.addFunction(traced, "iiiii");
  const frame = new Frame(engine, device);
  try {
    const source = frame.struct(structs.weft_function_source, {});
    const layout = structs.weft_function_source.members;
    const handles = frame.tensors(variables), without = options.without ? frame.text(options.without) : 0;
    const out = frame.u32s([0]);
    const view = frame.view();
    view.setUint32(source + layout.function[1], pointer, true);
    view.setUint32(source + layout.results[1], results, true);
    view.setUint32(source + layout.variables[1], handles, true);
    view.setUint32(source + layout.variableCount[1], variables.length, true);
    view.setUint32(source + layout.without[1], without, true);
    view.setUint32(source + layout.mostVariants[1], options.mostVariants ?? 0, true);
    engine.call("weft_compile", source, out);
    return new Compiled(device, frame.view().getUint32(out, true), results, failed, () => engine.module.removeFunction(pointer));
  } finally {
    frame.free();
  }
}

