#pragma once

#include "ops/plan.hpp"

namespace weft::ops::indexer {

/// Scores by which sparse attention chooses what to look at:
/// y[stream, token, n] = sum over heads of max(q[stream, token, head] · k[stream, n], 0) *
/// weight[stream, token, head], plus the mask.
struct Args {
  View q;        ///< [streams, tokens, heads, size], f32, f16 or bf16.
  View k;        ///< [streams, keys, size], float, or a quantized type.
  View weights;  ///< [streams, tokens, heads], float.
  View mask{};   ///< Optional, [streams or a divisor of it, tokens, keys], float; repeats over the
                 ///< streams.
  View y;        ///< [streams, tokens, keys], f32.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::indexer
