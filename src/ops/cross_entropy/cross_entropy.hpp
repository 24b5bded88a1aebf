#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::cross_entropy {

/// How the losses of rows become the result.
enum class Reduction : std::uint8_t {
  none,  ///< One loss per row.
  sum,   ///< Their sum.
  mean,  ///< Their mean; with class numbers, over the rows that count (0 when none does).
};

/// "none", "sum", …
constexpr std::string_view name(Reduction reduction) {
  switch (reduction) {
    case Reduction::none: return "none";
    case Reduction::sum: return "sum";
    case Reduction::mean: return "mean";
  }
  return "?";
}

/// What forward and backward take alike. The targets are either class numbers or probabilities. A
/// row whose class number is `ignored` or negative has the loss 0 and the gradient 0; one past the
/// last class has NaN for both.
struct Problem {
  View logits;           ///< […, classes]: f32, f16 or bf16.
  View classes{};        ///< […] of i32 or i64: the right class of each row.
  View probabilities{};  ///< Or the shape of logits, float: the probability of each class.
  std::optional<std::int32_t> ignored{};  ///< A class number that does not count.
  Reduction reduction = Reduction::mean;
};

/// loss = reduction of log(sum(exp(x))) - sum(t * x) over rows x of logits with probabilities t,
/// which add up to 1.
struct Args {
  Problem problem;
  View loss;           ///< f32: a scalar (one element), or one per row without reduction.
  View log_sum_exp{};  ///< Optional output, […] of f32, that spares the backward pass a pass over
                       ///< the logits.
};

/// dlogits = (softmax(x) - t) * dloss, over the number of rows that count for a mean.
struct BackArgs {
  Problem problem;
  View dloss;          ///< f32: a scalar (one element), or one per row without reduction.
  View log_sum_exp{};  ///< Optional input: what the forward op wrote.
  View dlogits;        ///< The shape of logits, any float type; may be the same view as logits.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const BackArgs& args, const Caps& caps);

}  // namespace weft::ops::cross_entropy
