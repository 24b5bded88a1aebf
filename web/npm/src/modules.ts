import type { Device } from "./device.js";
import { WeftError } from "./error.js";
import * as ops from "./generated/ops.js";
import { assign } from "./state.js";
import type { Tensor } from "./tensor.js";

/** Where the parameters of new modules lie, and what they start with: each takes the next key of one seed. */
export class Init {
  readonly device: Device;
  readonly #key: Tensor;
  #drawn = 0;

  constructor(device: Device, seed: number | bigint = 0) {
    this.device = device;
    this.#key = ops.randomKey(device, seed);
  }

  /** A key that no other parameter has. */
  next(): Tensor {
    return ops.randomFoldIn(this.#key, this.#drawn++);
  }
  uniform(shape: readonly number[], low: number, high: number): Tensor {
    return ops.randomUniform(this.next(), shape, { low, high });
  }
  normal(shape: readonly number[], std: number, mean = 0): Tensor {
    return ops.randomNormal(this.next(), shape, { mean, std });
  }
  /** Uniform within ±1/√fanIn: what linear layers and convolutions start with. */
  fanInUniform(shape: readonly number[], fanIn: number): Tensor {
    const bound = 1 / Math.sqrt(fanIn);
    return this.uniform(shape, -bound, bound);
  }
}

/**
 * A part of a model: named parameters and other modules. A class of one's own calls parameter() and part() in its constructor,
 * and reads parameters with get(). They become variables with ready(), which optimizers call.
 */
export abstract class Module {
  readonly #parameters = new Map<string, Tensor>();
  readonly #parts = new Map<string, Module>();
  #ready = false;

  abstract forward(...inputs: Tensor[]): Tensor;

  /** What an optimizer changes, by full names such as "layers.0.weight". */
  namedParameters(prefix = ""): [string, Tensor][] {
    const own = [...this.#parameters].map(([name, tensor]): [string, Tensor] => [prefix + name, tensor]);
    return [...own, ...[...this.#parts].flatMap(([name, part]) => part.namedParameters(`${prefix}${name}.`))];
  }
  parameters(): Tensor[] {
    return this.namedParameters().map(([, tensor]) => tensor);
  }
  /** Elements of all parameters. */
  get parameterCount(): number {
    return this.parameters().reduce((sum, tensor) => sum + tensor.size, 0);
  }

  /** Gives every parameter memory of its own, once. */
  async ready(): Promise<this> {
    for (const part of this.#parts.values()) await part.ready();
    if (this.#ready) return this;
    for (const [name, initial] of this.#parameters) {
      this.#parameters.set(name, await initial.device.variable(initial));
      initial.dispose();
    }
    this.#ready = true;
    return this;
  }

  /** Gives all parameters new values, such as those of a file. Every name must be there, and no other. */
  async loadState(values: Readonly<Record<string, Tensor>>): Promise<void> {
    await this.ready();
    await assign(this.namedParameters(), values);
  }
  /** The parameters by name: what a file of weights holds. */
  state(): Record<string, Tensor> {
    return Object.fromEntries(this.namedParameters());
  }
  /** Keeps a copy of the parameters as they are now in the page's memory, with which a lost device gets them back. */
  async keep(): Promise<void> {
    await this.ready();
    for (const tensor of this.parameters()) await tensor.keep();
  }

  dispose(): void {
    for (const part of this.#parts.values()) part.dispose();
    for (const tensor of this.#parameters.values()) tensor.dispose();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }

  protected parameter(name: string, initial: Tensor): void {
    this.#parameters.set(name, initial);
  }
  protected get(name: string): Tensor {
    const tensor = this.#parameters.get(name);
    if (!tensor) throw new WeftError("not_found", `${this.constructor.name} has no parameter ${name}; it has ${[...this.#parameters.keys()].join(", ") || "none"}.`);
    return tensor;
  }
  protected part<M extends Module>(name: string, module: M): M {
    this.#parts.set(name, module);
    return module;
  }
}

/** x · weightᵀ + bias for x […, in]: weight is [out, in], bias [out]. */
export class Linear extends Module {
  readonly #bias: boolean;
  constructor(init: Init, inputs: number, outputs: number, bias = true) {
    super();
    this.#bias = bias;
    this.parameter("weight", init.fanInUniform([outputs, inputs], inputs));
    if (bias) this.parameter("bias", init.fanInUniform([outputs], inputs));
  }
  override forward(x: Tensor): Tensor {
    return ops.linear(x, this.get("weight"), this.#bias ? this.get("bias") : undefined);
  }
}

/** Rows of a table [count, width] by indices. */
export class Embedding extends Module {
  constructor(init: Init, count: number, width: number) {
    super();
    this.parameter("weight", init.normal([count, width], 1));
  }
  override forward(indices: Tensor): Tensor {
    return ops.embedding(this.get("weight"), indices);
  }
}

/** A convolution over images [N, in, height, width]. */
export class Conv2d extends Module {
  readonly #options: ops.ConvOptions;
  constructor(init: Init, inputs: number, outputs: number, kernel: number, options: { stride?: number; padding?: number; groups?: number } = {}) {
    super();
    const { stride = 1, padding = 0, groups = 1 } = options, fanIn = (inputs / groups) * kernel * kernel;
    this.#options = { stride: [stride, stride], pad: [padding, padding], groups };
    this.parameter("weight", init.fanInUniform([outputs, inputs / groups, kernel, kernel], fanIn));
    this.parameter("bias", init.fanInUniform([outputs], fanIn));
  }
  override forward(x: Tensor): Tensor {
    return ops.conv(x, this.get("weight"), this.get("bias"), this.#options);
  }
}

/** Normalisations along the last dimension. */
export class LayerNorm extends Module {
  readonly #eps: number;
  constructor(init: Init, width: number, eps = 1e-5) {
    super();
    this.#eps = eps;
    this.parameter("weight", init.device.ones([width]));
    this.parameter("bias", init.device.zeros([width]));
  }
  override forward(x: Tensor): Tensor {
    return ops.layerNorm(x, this.get("weight"), this.get("bias"), this.#eps);
  }
}
export class RMSNorm extends Module {
  readonly #eps: number;
  constructor(init: Init, width: number, eps = 1e-5) {
    super();
    this.#eps = eps;
    this.parameter("weight", init.device.ones([width]));
  }
  override forward(x: Tensor): Tensor {
    return ops.rmsNorm(x, this.get("weight"), this.#eps);
  }
}

/** Groups of channels of [N, C, …], each with mean 0 and variance 1. */
export class GroupNorm extends Module {
  readonly #groups: number;
  readonly #eps: number;
  constructor(init: Init, groups: number, channels: number, eps = 1e-5) {
    super();
    this.#groups = groups;
    this.#eps = eps;
    this.parameter("weight", init.device.ones([channels]));
    this.parameter("bias", init.device.zeros([channels]));
  }
  override forward(x: Tensor): Tensor {
    return ops.groupNorm(x, this.#groups, this.get("weight"), this.get("bias"), this.#eps);
  }
}

/** Any function of a tensor as a module. */
export class Lambda extends Module {
  readonly #fn: (x: Tensor) => Tensor;
  constructor(fn: (x: Tensor) => Tensor) {
    super();
    this.#fn = fn;
  }
  override forward(x: Tensor): Tensor {
    return this.#fn(x);
  }
}

/** Modules and functions one after the other. */
export class Sequential extends Module {
  readonly #steps: readonly Module[];
  constructor(...steps: readonly (Module | ((x: Tensor) => Tensor))[]) {
    super();
    this.#steps = steps.map((step, i) => this.part(String(i), step instanceof Module ? step : new Lambda(step)));
  }
  override forward(x: Tensor): Tensor {
    return this.#steps.reduce((value, step) => step.forward(value), x);
  }
}
