#pragma once

#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::attention {

/// Which logits a query sees and how they are made: logit = soft_cap(scale * q·k) + slope(head) *
/// mask, and only keys that the causal and window rules leave visible count. Queries stand at the
/// end of the keys: query i is at position i + keys - queries.
struct Rules {
  float scale = 1;
  float soft_cap = 0;  ///< With a value > 0 scaled logits become soft_cap * tanh(logit / soft_cap).
  float max_bias = 0;  ///< ALiBi: with a value > 0 the mask is multiplied by a slope that falls
                       ///< from head to head.
  bool causal = false;  ///< Keys behind the position of the query do not count.
  std::uint64_t window =
      0;  ///< With a value > 0 only the last `window` positions up to the query's own count.
};

/// y = softmax(logits)·v, without the matrix of logits in memory. All tensors may have any strides.
/// Heads of q share a head of k and v in groups: query head h uses key head h / (query heads / key
/// heads), and batches likewise.
struct Args {
  View q;        ///< [batch, heads, queries, size], f32, f16 or bf16.
  View k;        ///< [key batches, key heads, keys, size], a float type or a quantized one.
  View v;        ///< [key batches, key heads, keys, value size], a float type or a quantized one.
  View y;        ///< [batch, heads, queries, value size], f32, f16 or bf16.
  View mask{};   ///< Optional float [mask batches, mask heads, queries, keys]; repeats over batches
                 ///< and heads.
  View sinks{};  ///< Optional f32 [heads]: a logit per head that takes its share of the sum and has
                 ///< no value.
  View lse{};    ///< Optional output, f32 [batch, heads, queries]: the logarithm of the sum of
                 ///< exp(logit).
  Rules rules{};
  std::string_view kernel = {};  ///< Forces a kernel by its name; empty: the best that fits.
  /// Optional output: y as mul_mat::packed_view() of its rows [batch, queries, heads · value size],
  /// which f32 y holds densely. For values of 32, 64, … 256 columns and keys that are split among
  /// workgroups, fails otherwise.
  View packed{};
  /// Optional, for kernels on matrix units: f32 [key batches, key heads, 1, 4], what q, k, v and dy
  /// have to be multiplied by, for each head of keys and all queries that share it.
  View factors{};
};

/// How many tiles Traits::attention_tile chooses among.
std::uint32_t attention_tile_count();

/// The launches for `args`, or why there are none. A query that sees no key gives zeros.
Result<Plan> plan(const Args& args, const Caps& caps);

/// Gradients of `Args` with respect to q, k and v. Runs give the same bits every time. The mask and
/// sinks have no gradient here.
struct BackwardArgs {
  View q;       ///< As in Args.
  View k;       ///< As in Args.
  View v;       ///< As in Args.
  View y;       ///< What the forward pass wrote.
  View lse;     ///< What the forward pass wrote.
  View dy;      ///< The gradient of y, of its shape.
  View dq;      ///< Output of the shape of q, a float type.
  View dk;      ///< Output of the shape of k: sums over the heads and batches that share it.
  View dv;      ///< Output of the shape of v.
  View mask{};  ///< As in Args.
  Rules rules{};
  std::string_view kernel = {};  ///< Forces a kernel by its name; empty: the best that fits.
  View factors{};                ///< As in Args.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const BackwardArgs& args, const Caps& caps);

}  // namespace weft::ops::attention
