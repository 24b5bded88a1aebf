#pragma once

#include <cstdint>

#include "weft/ops.hpp"

namespace weft {

/// Choices for sample_tokens(). They are applied in this order.
struct SampleOptions {
  Tensor previous;  ///< i32 [batch, n]: tokens so far, which the penalty is for; others than tokens
                    ///< (-1, say) are left out.
  double penalty = 1;       ///< Logits of previous tokens are divided by it where positive, and
                            ///< multiplied where negative.
  double temperature = 1;   ///< Logits are divided by it; 0 takes the largest.
  std::uint64_t top_k = 0;  ///< Only so many largest logits, and those equal to the last; 0: all.
  double top_p = 1;  ///< Of these, the fewest whose probabilities add up to at least this, and
                     ///< those equal to the last.
  double min_p = 0;  ///< Of these, those that have at least this share of the largest probability.
};
/// One token (i32 [batch]) for each row of logits [batch, vocabulary], drawn with a key: the choice
/// that categorical() makes with that key among the tokens that are left. NaN counts as
/// -infinity.
Tensor sample_tokens(In logits, const Tensor& key, const SampleOptions& options = {});

}  // namespace weft
