#pragma once

#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::router {

/// How the logit of an expert becomes its score.
enum class Score : std::uint8_t {
  softmax,        ///< Over all experts.
  sigmoid,        ///< Of each.
  root_softplus,  ///< The square root of softplus, of each.
  logit,          ///< As it is.
};

/// "softmax", "sigmoid", …
constexpr std::string_view name(Score score) {
  switch (score) {
    case Score::softmax: return "softmax";
    case Score::sigmoid: return "sigmoid";
    case Score::root_softplus: return "root_softplus";
    case Score::logit: return "logit";
  }
  return "?";
}

/// The experts of each token: those with the K largest scores, largest first, and the weights of
/// their results.
struct Args {
  View logits;  ///< [T, E] of f32, E at most `most_experts`.
  View bias{};  ///< Optional [E] of f32: added to scores for the choice, but not for the weights.
  View ids;     ///< [T, K] of i32. Of equal scores the lower number comes first.
  View weights{};  ///< [T, K] of f32; shares no memory with `logits` unless there is one token.
  Score score = Score::softmax;
  bool softmax_chosen = false;  ///< Weights are the softmax of the chosen scores.
  bool normalize = false;       ///< Weights are divided by their sum, which is at least `least`.
  float least = 0;
  float scale = 1;  ///< Multiplies weights at the end.
};

/// The most experts.
inline constexpr std::uint64_t most_experts = 1024;

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::router
