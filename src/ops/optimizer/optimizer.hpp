#pragma once

#include <vector>

#include "ops/plan.hpp"

namespace weft::ops::optimizer {

/// What every step takes. All tensors are dense and of one shape. The numbers of a step are device
/// memory, so that a recorded step can be replayed with others.
struct Weights {
  View weights;    ///< f32, updated in place.
  View gradients;  ///< f32, f16 or bf16.
  View working{};  ///< Optional output, f16 or bf16: the new weights, rounded.
  /// Optional, one f32: gradients are multiplied by it first. When it is not finite, the step
  /// changes no more than `working`, which is the weights as they are.
  View scale{};
};

/// One step of AdamW: m and v follow the gradients and their squares, and
/// weights = weights * (1 - rate * decay) - rate * (m * correction1) / (sqrt(v * correction2) +
/// eps).
struct AdamArgs {
  Weights tensors;
  View m;  ///< f32, updated in place.
  View v;  ///< f32, updated in place.
  /// Seven f32: rate, beta1, beta2, eps, decay, correction1 = 1 / (1 - beta1^step), correction2 = 1
  /// / (1 - beta2^step).
  View numbers;
  bool coupled =
      false;  ///< Adam as first published: decay * weights is added to the gradients instead.
};

/// One step of gradient descent: weights = weights * (1 - rate * decay) - rate * direction, where
/// the direction is the gradients, or with `momentum` what it holds after momentum = momentum *
/// factor + gradients.
struct SgdArgs {
  Weights tensors;
  View numbers;          ///< Two f32: rate, decay; with momentum a third: factor.
  View momentum{};       ///< Optional: f32, updated in place.
  bool coupled = false;  ///< decay * weights is added to the gradients instead.
};

/// The scale that brings all gradients together to a norm of at most `max_norm`. Not finite when a
/// gradient is not.
struct ClipArgs {
  std::vector<View> gradients;  ///< f32, f16 or bf16, any shapes and strides.
  View scale;                   ///< Output, one f32, for Weights::scale.
  View norm{};         ///< Optional output, one f32: the norm of all gradients over the loss scale.
  View loss_scale{};   ///< Optional, one f32: gradients are so many times too large.
  float max_norm = 0;  ///< 0: do not clip.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const AdamArgs& args, const Caps& caps);
Result<Plan> plan(const SgdArgs& args, const Caps& caps);
Result<Plan> plan(const ClipArgs& args, const Caps& caps);

}  // namespace weft::ops::optimizer
