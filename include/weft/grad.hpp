#pragma once

#include <vector>

#include "weft/tensor.hpp"

namespace weft {

/// The derivatives of `loss`, a tensor with one element, by each of `by` (variables, inputs of a compiled function, or
/// any tensors that `loss` was computed from). They are expressions like all others: they run when asked for, and
/// derivatives of them can be taken. A tensor that does not influence the loss gets zeros.
[[nodiscard]] std::vector<Tensor> grad(const Tensor& loss, const std::vector<Tensor>& by);

/// The same for a tensor of any shape: the derivatives of sum(y * weights).
[[nodiscard]] std::vector<Tensor> grad(const Tensor& y, const Tensor& weights,
                                       const std::vector<Tensor>& by);

}  // namespace weft
