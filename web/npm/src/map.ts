import { call, first, isTensor } from "./call.js";
import { shown, WeftError } from "./error.js";
import { structs } from "./generated/raw.js";
import type { Tensor } from "./tensor.js";

/** A tensor, or a number that stands for one with the type of its partner. */
export type Operand = Tensor | number;

/** Operands as tensors: a number takes the type of the first tensor. */
export function operands(...inputs: readonly Operand[]): Tensor[] {
  const partner = inputs.find(isTensor);
  if (!partner) throw new WeftError("invalid_argument", "At least one of the operands has to be a tensor.");
  return inputs.map((input) => {
    if (isTensor(input)) return input;
    if (typeof input !== "number" && typeof input !== "boolean") throw new WeftError("invalid_argument", `An operand is a tensor or a number; ${shown(input)} was given.`);
    return partner.device.full([], input, partner.dtype);
  });
}

/** An elementwise function by its name in docs/ops.md. */
export function map(fn: string, inputs: readonly Operand[], scalars: readonly number[] = []): Tensor {
  const tensors = operands(...inputs);
  return call(tensors[0]!, (frame) =>
    frame.one("weft_tensor_map", frame.text(fn), frame.tensors(tensors), tensors.length,
      frame.options(structs.weft_tensor_map_options, { scalars })));
}

/** A reduction by its name in docs/ops.md, over the given dimensions or over all. */
export function reduce(fn: string, x: Tensor, dims: readonly number[] = [], keepDims = false): Tensor {
  return call(x, (frame) =>
    frame.one("weft_tensor_reduce", frame.text(fn), x.handle, frame.options(structs.weft_tensor_reduce_options, { dims, keepDims })));
}

/** The derivatives of `y`, which has one element, by tensors that it was computed from; or those of sum(y · weights). */
export function grad(y: Tensor, by: readonly Tensor[], weights?: Tensor): Tensor[] {
  first(by);
  return call(y, (frame) => {
    const out = frame.u32s(by.map(() => 0));
    frame.engine.call("weft_tensor_grad", frame.of(y), weights ? frame.of(weights) : 0, frame.tensors(by), by.length, out);
    return frame.taken(out, by.length);
  });
}
