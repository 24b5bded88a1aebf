#pragma once

#include <cstdint>

#include "weft/ops.hpp"

namespace weft {

// Losses of predictions against targets, which broadcast against each other. With Reduction::none
// the result has an element for each of them, else one in all: their mean or their sum. 16-bit
// floats are computed in f32.

/// (x - target)²
Tensor mse_loss(In x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x - target|
Tensor l1_loss(In x, const Tensor& target, Reduction reduction = Reduction::mean);
/// With d = |x - target|: d² / 2 up to `delta`, then delta · (d - delta / 2).
Tensor huber_loss(In x, const Tensor& target, double delta = 1,
                  Reduction reduction = Reduction::mean);
/// With d = |x - target|: d² / (2 beta) up to `beta`, then d - beta / 2.
Tensor smooth_l1_loss(In x, const Tensor& target, double beta = 1,
                      Reduction reduction = Reduction::mean);
/// max(0, 1 - x · target) for targets of -1 and 1.
Tensor hinge_loss(In x, const Tensor& target, Reduction reduction = Reduction::mean);

/// -(target · log(x) + (1 - target) · log(1 - x)) of probabilities x; logarithms are at least -100.
Tensor binary_cross_entropy(In x, const Tensor& target, Reduction reduction = Reduction::mean);

/// Choices for binary_cross_entropy_with_logits().
struct BinaryCrossEntropyOptions {
  Tensor pos_weight{};  ///< What the part of target 1 is multiplied by; broadcasts.
  Reduction reduction = Reduction::mean;
};
/// The same for probabilities sigmoid(x), without overflow.
Tensor binary_cross_entropy_with_logits(In x, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options = {});

/// Choices for nll_loss().
struct NllOptions {
  Tensor
      weight{};  ///< f32 [classes]: of the rows with that label; the mean is divided by their sum.
  std::int32_t ignored = -1;  ///< Rows with this label count for nothing, as negative ones.
  Reduction reduction = Reduction::mean;
};
/// -x[label] of logarithms of probabilities x […, classes] and integer labels […]. A label of
/// `classes` or more is an error on a device in safe mode, and counts for nothing in fast mode.
Tensor nll_loss(In x, const Tensor& labels, const NllOptions& options = {});

/// Choices for kl_div().
struct KlDivOptions {
  bool log_target = false;  ///< The target is a logarithm too.
  Reduction reduction = Reduction::mean;
};
/// target · (log(target) - x) of logarithms of probabilities x; 0 where the target is 0.
Tensor kl_div(In x, const Tensor& target, const KlDivOptions& options = {});

/// The cosine of the angle between vectors along an axis: a · b / (max(|a|, eps) · max(|b|, eps)).
Tensor cosine_similarity(In a, const Tensor& b, int axis = -1, double eps = 1e-8);
/// With c the cosine along the last axis: 1 - c where the target is 1, max(0, c - margin) where it
/// is -1.
Tensor cosine_embedding_loss(In a, const Tensor& b, const Tensor& target, double margin = 0,
                             Reduction reduction = Reduction::mean);

}  // namespace weft
