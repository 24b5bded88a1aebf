#pragma once

#include "weft/ops.hpp"

namespace weft {

// Activations that are made of other functions, with the names that PyTorch and MLX have for them;
// gelu(), relu(), silu(), elu() and more are in weft/elementwise.hpp. Integers give f32, except in
// relu6() and hardtanh().

/// min(max(x, 0), 6).
Tensor relu6(In x);
/// x between `low` and `high`.
Tensor hardtanh(In x, double low = -1, double high = 1);
/// 1.0507·x where x > 0, else 1.0507·1.6733·(exp(x) - 1).
Tensor selu(In x);
/// x where x > 0, else alpha·(exp(x / alpha) - 1).
Tensor celu(In x, double alpha = 1);
/// x where x > 0, else weight·x; the weight broadcasts to x: [channels, 1, 1] has one number for
/// each channel of images.
Tensor prelu(In x, const Tensor& weight);
/// x / (1 + |x|).
Tensor softsign(In x);
/// x moved towards 0 by `limit`, or 0 where it lies nearer.
Tensor softshrink(In x, double limit = 0.5);
/// x, or 0 where |x| <= limit.
Tensor hardshrink(In x, double limit = 0.5);
/// log(sigmoid(x)), without overflow.
Tensor log_sigmoid(In x);
/// The first half along an axis times sigmoid() of the second.
Tensor glu(In x, int axis = -1);

}  // namespace weft
