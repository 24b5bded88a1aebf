import { compile, type Compiled } from "./compile.js";
import * as ops from "./generated/ops.js";
import { grad } from "./map.js";
import type { Module } from "./nn.js";
import { assign } from "./state.js";
import type { Tensor } from "./tensor.js";

/** Turns gradients into new values of parameters. What it remembers are variables, so that a compiled step holds all of it. */
export abstract class Optimizer {
  /** The parameters, in the order of the gradients that step() takes. */
  readonly parameters: readonly Tensor[];
  /** For each parameter, what is remembered of it. */
  protected readonly memory: readonly (readonly Tensor[])[];
  /** How many steps were made: one f32. */
  protected readonly count: Tensor;

  protected constructor(parameters: readonly Tensor[], memory: readonly (readonly Tensor[])[], count: Tensor) {
    this.parameters = parameters;
    this.memory = memory;
    this.count = count;
  }

  /** The variables of a model and new ones of zeros, `each` of them for every parameter. */
  protected static async prepare(model: Module, each: number): Promise<[Tensor[], Tensor[][], Tensor]> {
    await model.ready();
    const parameters = model.parameters(), memory: Tensor[][] = [];
    for (const parameter of parameters) {
      const mine: Tensor[] = [];
      for (let i = 0; i < each; ++i) mine.push(await parameter.device.variable(parameter.device.zeros(parameter.shape)));
      memory.push(mine);
    }
    const device = parameters[0]?.device;
    if (!device) throw new RangeError("The model has no parameters.");
    return [parameters, memory, await device.variable(device.zeros([1]))];
  }

  /** Everything that a step changes: the parameters, what is remembered, and the count. */
  get variables(): Tensor[] {
    return [...this.parameters, ...this.memory.flat(), this.count];
  }

  /** What is remembered, by name: with the parameters of the model all that a training needs to go on later as if it had never ended. */
  state(): Record<string, Tensor> {
    return Object.fromEntries([...this.memory.flatMap((mine, i) => mine.map((one, j): [string, Tensor] => [`${i}.${j}`, one])), ["count", this.count]]);
  }
  /** Goes on from what state() gave, such as that of a file. */
  loadState(values: Readonly<Record<string, Tensor>>): Promise<void> {
    return assign(Object.entries(this.state()), values);
  }

  /** The new values of `variables`, in their order. The rate is one f32; so is the scale, if there is one. */
  step(gradients: readonly Tensor[], rate: Tensor, scale?: Tensor): Tensor[] {
    const count = this.count.add(1);
    const changed = this.parameters.map((parameter, i) => this.rule(parameter, gradients[i]!, this.memory[i]!, { rate, count, scale }));
    return [...changed.map(([value]) => value!), ...changed.flatMap(([, ...memory]) => memory), count];
  }

  /** The new value of one parameter, and of what is remembered of it. */
  protected abstract rule(parameter: Tensor, gradient: Tensor, memory: readonly Tensor[], now: { rate: Tensor; count: Tensor; scale: Tensor | undefined }): Tensor[];

  dispose(): void {
    for (const tensor of [...this.memory.flat(), this.count]) tensor.dispose();
  }
}

/** p - lr · v, where v = momentum · v + g + weightDecay · p. */
export class SGD extends Optimizer {
  readonly #options: { momentum: number; weightDecay: number };
  private constructor(prepared: [Tensor[], Tensor[][], Tensor], options: { momentum: number; weightDecay: number }) {
    super(...prepared);
    this.#options = options;
  }
  static async of(model: Module, { momentum = 0, weightDecay = 0 } = {}): Promise<SGD> {
    return new SGD(await Optimizer.prepare(model, momentum > 0 ? 1 : 0), { momentum, weightDecay });
  }
  protected override rule(parameter: Tensor, gradient: Tensor, [velocity]: readonly Tensor[], { rate, scale }: { rate: Tensor; scale: Tensor | undefined }): Tensor[] {
    const made = ops.sgd(parameter, gradient, velocity, { ...this.#options, learningRate: rate, ...(scale ? { scale } : {}) });
    return made.newVelocity && velocity ? [made.newWeights, made.newVelocity] : [made.newWeights];
  }
}

export interface AdamOptions {
  beta1?: number;
  beta2?: number;
  eps?: number;
  weightDecay?: number;
}

/** Adam as first published: decay is added to the gradients. */
export class Adam extends Optimizer {
  readonly #options: AdamOptions & { coupled: boolean };
  protected constructor(prepared: [Tensor[], Tensor[][], Tensor], options: AdamOptions, coupled = true) {
    super(...prepared);
    this.#options = { ...options, coupled };
  }
  static async of(model: Module, { weightDecay = 0, ...options }: AdamOptions = {}): Promise<Adam> {
    return new Adam(await Optimizer.prepare(model, 2), { ...options, weightDecay });
  }
  protected override rule(parameter: Tensor, gradient: Tensor, [m, v]: readonly Tensor[], { rate, count, scale }: { rate: Tensor; count: Tensor; scale: Tensor | undefined }): Tensor[] {
    const made = ops.adamw(parameter, gradient, m!, v!, count, { ...this.#options, learningRate: rate, ...(scale ? { scale } : {}) });
    return [made.newWeights, made.newM, made.newV];
  }
}

/** Adam with decay that is taken from the parameters. */
export class AdamW extends Adam {
  static override async of(model: Module, options: AdamOptions = {}): Promise<AdamW> {
    return new AdamW(await Optimizer.prepare(model, 2), options, false);
  }
}

/** p - lr · (sign(beta1 · m + (1 - beta1) · g) + weightDecay · p), with m = beta2 · m + (1 - beta2) · g afterwards. */
export class Lion extends Optimizer {
  readonly #options: { beta1: number; beta2: number; weightDecay: number };
  private constructor(prepared: [Tensor[], Tensor[][], Tensor], options: { beta1: number; beta2: number; weightDecay: number }) {
    super(...prepared);
    this.#options = options;
  }
  static async of(model: Module, { beta1 = 0.9, beta2 = 0.99, weightDecay = 0 } = {}): Promise<Lion> {
    return new Lion(await Optimizer.prepare(model, 1), { beta1, beta2, weightDecay });
  }
  protected override rule(parameter: Tensor, gradient: Tensor, [m]: readonly Tensor[], { rate, scale }: { rate: Tensor; scale: Tensor | undefined }): Tensor[] {
    const { beta1, beta2, weightDecay } = this.#options, g = scale ? gradient.mul(scale) : gradient;
    const direction = ops.sign(m!.mul(beta1).add(g.mul(1 - beta1))).add(parameter.mul(weightDecay));
    return [parameter.sub(direction.mul(rate)), m!.mul(beta2).add(g.mul(1 - beta2))];
  }
}

/** The learning rate of a step, counted from 0: up in a straight line over `warmup` steps, then down to `floor` times the highest. */
export function schedule(step: number, { lr, steps, warmup = 0, decay = "cosine", floor = 0 }: {
  lr: number; steps: number; warmup?: number; decay?: "constant" | "linear" | "cosine"; floor?: number;
}): number {
  if (step < warmup) return (lr * (step + 1)) / warmup;
  if (decay === "constant") return lr;
  const progress = Math.min(1, (step - warmup) / Math.max(1, steps - warmup));
  return lr * (floor + (1 - floor) * (decay === "linear" ? 1 - progress : 0.5 + 0.5 * Math.cos(Math.PI * progress)));
}

/** A compiled step of a training: forward, backward and the optimizer in one function that is planned once and then replayed. */
export class TrainingStep {
  readonly #compiled: Compiled;
  readonly #optimizer: Optimizer;

  /**
   * `loss` is given the inputs of run() and gives one element. With `clipNorm` gradients are scaled to that norm together
   * where theirs is larger.
   */
  constructor(optimizer: Optimizer, loss: (...inputs: Tensor[]) => Tensor, { clipNorm = 0 } = {}) {
    const device = optimizer.parameters[0]!.device;
    this.#optimizer = optimizer;
    this.#compiled = compile(device, (rate, ...inputs) => {
      const value = loss(...inputs);
      const gradients = grad(value, optimizer.parameters);
      const scale = clipNorm > 0 ? ops.clipByGlobalNorm(gradients, clipNorm).scale : undefined;
      return [value, ...optimizer.step(gradients, rate!, scale)];
    }, { variables: optimizer.variables });
  }

  /** One step with this learning rate; gives the loss before it. */
  async run(rate: number, ...inputs: Tensor[]): Promise<number> {
    const given = this.#optimizer.parameters[0]!.device.tensor([rate]);
    const [loss] = await this.#compiled.run(given, ...inputs);
    try {
      return await loss!.item();
    } finally {
      loss!.dispose();
      given.dispose();
    }
  }

  /** Keeps a copy of parameters and optimizer in the page's memory: where a lost device goes on from after Device.recover(). */
  async snapshot(): Promise<void> {
    for (const variable of this.#optimizer.variables) await variable.keep();
  }

  dispose(): void {
    this.#compiled.dispose();
  }
}
