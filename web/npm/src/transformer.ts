import { WeftError } from "./error.js";
import * as ops from "./generated/ops.js";
import { type Init, LayerNorm, Linear, Module, RMSNorm } from "./modules.js";
import type { Tensor } from "./tensor.js";

export interface AttentionChoices {
  /** Heads of keys and values, shared by several of queries; as many as heads if nothing is said. */
  kvHeads?: number;
  /** A position sees itself and what came before it. */
  causal?: boolean;
  /** With a value > 0 only so many positions up to its own. */
  window?: number;
  /** With a value > 0 queries and keys turn with their position. */
  ropeBase?: number;
  bias?: boolean;
}

/** Attention of sequences [batch, positions, width] to themselves, in several heads. */
export class MultiheadAttention extends Module {
  readonly #heads: number;
  readonly #choices: Required<AttentionChoices>;
  readonly #parts: Record<"q" | "k" | "v" | "out", Linear>;

  constructor(init: Init, width: number, heads: number, { kvHeads = heads, causal = false, window = 0, ropeBase = 0, bias = true }: AttentionChoices = {}) {
    super();
    if (!(heads > 0 && kvHeads > 0) || width % heads || heads % kvHeads) {
      throw new WeftError("invalid_argument", `MultiheadAttention cannot divide a width of ${width} into ${heads} heads with ${kvHeads} heads of keys and values.`);
    }
    this.#heads = heads;
    this.#choices = { kvHeads, causal, window, ropeBase, bias };
    const inner = (width / heads) * kvHeads;
    const make = (name: string, outputs: number) => this.part(`${name}_proj`, new Linear(init, width, outputs, bias));
    this.#parts = { q: make("q", width), k: make("k", inner), v: make("v", inner), out: make("out", width) };
  }

  /** A mask is added to the products of queries and keys. */
  override forward(x: Tensor, mask?: Tensor): Tensor {
    const [batch, positions, width] = x.shape, { kvHeads, causal, window, ropeBase } = this.#choices, { q, k, v, out } = this.#parts;
    if (x.shape.length !== 3) throw new WeftError("invalid_argument", `MultiheadAttention needs [batch, positions, width]; this tensor has ${x.shape.length} dimensions.`);
    const split = (y: Tensor, heads: number, turns: boolean) => {
      const parts = y.reshape([batch!, positions!, heads, width! / this.#heads]);
      return ops.permute(turns && ropeBase > 0 ? ops.rope(parts, undefined, { base: ropeBase }) : parts, [0, 2, 1, 3]);
    };
    const mixed = ops.attention(split(q.forward(x), this.#heads, true), split(k.forward(x), kvHeads, true), split(v.forward(x), kvHeads, false), mask, { causal, window });
    return out.forward(ops.permute(mixed, [0, 2, 1, 3]).reshape(x.shape));
  }
}

export interface BlockChoices {
  attention?: AttentionChoices;
  /** Width inside the MLP; four times the width if nothing is said. */
  hidden?: number;
  /** silu(x · gate) * (x · up) instead of gelu(x · up). */
  gated?: boolean;
  /** RMS norms instead of layer norms. */
  rms?: boolean;
}

/** x + attention(norm(x)), then that + mlp(norm(that)); causal if nothing else is said. */
export class TransformerBlock extends Module {
  readonly #norms: readonly [Module, Module];
  readonly #attention: MultiheadAttention;
  readonly #gate: Linear | undefined;
  readonly #up: Linear;
  readonly #down: Linear;

  constructor(init: Init, width: number, heads: number, { attention = { causal: true }, hidden = 4 * width, gated = false, rms = false }: BlockChoices = {}) {
    super();
    const norm = () => (rms ? new RMSNorm(init, width) : new LayerNorm(init, width)), bias = attention.bias ?? true;
    const first = this.part("attention_norm", norm());
    this.#attention = this.part("attention", new MultiheadAttention(init, width, heads, attention));
    this.#norms = [first, this.part("mlp_norm", norm())];
    this.#gate = gated ? this.part("gate", new Linear(init, width, hidden, bias)) : undefined;
    this.#up = this.part("up", new Linear(init, width, hidden, bias));
    this.#down = this.part("down", new Linear(init, hidden, width, bias));
  }

  override forward(x: Tensor, mask?: Tensor): Tensor {
    const sum = x.add(this.#attention.forward(this.#norms[0].forward(x), mask)), normed = this.#norms[1].forward(sum), up = this.#up.forward(normed);
    return sum.add(this.#down.forward(this.#gate ? ops.swiglu(this.#gate.forward(normed), up) : ops.gelu(up)));
  }
}
