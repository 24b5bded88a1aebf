#pragma once

#include "ops/plan.hpp"

namespace weft::ops::softmax_back {

/// The gradient of y = softmax(scale * x + mask) along the last dimension, or with `log` of its
/// logarithm: dx = scale * y * (dy - sum(dy * y)), and dx = scale * (dy - exp(y) * sum(dy)).
struct Args {
  View y;           ///< What the forward op gave: f32, f16 or bf16, any strides.
  View dy;          ///< The gradient of y, the shape of y.
  View dx;          ///< The shape of y, any float type; may be the same view as an input.
  float scale = 1;  ///< The scale of the forward op.
  bool log = false;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::softmax_back
