#pragma once

#include "ops/fused/chain.hpp"
#include "ops/plan.hpp"

namespace weft::ops::softmax {

/// y = softmax(scale * x + slope(head) * mask) along the last dimension, or its logarithm. Another
/// axis is reached by transposing the views. Heads are the third dimension from the end. A row
/// whose logits are all -infinity (fully masked) gives zeros, and -infinity for the logarithm;
/// plain arithmetic would give NaN.
struct Args {
  View x;                ///< f32, f16 or bf16, any strides. Not looked at where there is a chain.
  fused::Chain chain{};  ///< Optional: what x is computed by, without being stored.
  View y;                ///< The shape of x, any float type; may be the same view as x.
  View mask;   ///< Optional, added to the scaled x. Dimensions align at the end: the last one is
               ///< that of x, each other extent divides that of x and repeats (x[i] meets mask[i %
               ///< extent]).
  View sinks;  ///< Optional f32 [heads]: a logit per head that takes its share of the sum and has
               ///< no output.
  float scale = 1;
  float max_bias = 0;  ///< ALiBi: with a value > 0 the mask is multiplied by a slope that falls
                       ///< from head to head.
  bool log = false;    ///< log_softmax.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::softmax
