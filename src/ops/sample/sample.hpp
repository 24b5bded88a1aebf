#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::sample {

/// One token for each row of logits. In this order: logits of previous tokens are divided by the
/// penalty where positive and multiplied where negative; all are divided by the temperature (0: the
/// largest is taken, the first of equals); only the top_k largest stay, and those equal to the last
/// (0: all); of these the fewest whose probabilities add up to top_p; of these the ones with at
/// least the share min_p of the largest probability. Among what is left the largest sum of logit
/// and Gumbel number wins. The number of token j in row i is that of element i · vocabulary + j
/// under the key. NaN counts as -infinity.
struct Args {
  View logits;      ///< [batch, vocabulary], f32, f16 or bf16, any strides.
  View key{};       ///< Two neighbouring u32; not needed where the temperature is 0.
  View previous{};  ///< [batch, n] of i32, or not given; what is no token is left out.
  View y;           ///< [batch] of i32.
  float penalty = 1;
  float temperature = 1;
  std::uint64_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  std::uint64_t parts = 0;  ///< Workgroups for each row; 0: as the device likes.
};

/// The launch for `args`, or why there is none; several where bindings are too small for all rows,
/// and where a few long rows are divided among workgroups.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::sample
