#pragma once

#include "weft/ops.hpp"

namespace weft {

// Normalisations of images, beside those of ops.hpp.

/// Choices for batch_norm().
struct BatchNormOptions {
  bool training = false;  ///< By the mean and the variance of the batch; else by the running ones.
  double momentum = 0.1;  ///< The share of the batch in the new running numbers.
  double eps = 1e-5;
};
/// What batch_norm() gives. In training the running numbers are new (the variance is that of a
/// sample), else the old ones.
struct BatchNorm {
  Tensor y;
  Tensor running_mean;
  Tensor running_var;
};
/// Each channel of x [batch, channels, …] less its mean and divided by its standard deviation,
/// times weight plus bias, which are [channels] or empty. In training the running numbers may be
/// empty too.
BatchNorm batch_norm(In x, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight = {}, const Tensor& bias = {},
                     const BatchNormOptions& options = {});

/// The same for each channel of each image by itself, without running numbers.
Tensor instance_norm(In x, const Tensor& weight = {}, const Tensor& bias = {}, float eps = 1e-5F);

}  // namespace weft
