#pragma once

#include <functional>
#include <vector>

#include "weft/tensor.hpp"

namespace weft {

/// The derivatives of `loss`, a tensor with one element, by each of `by` (variables, inputs of a
/// compiled function, or any tensors that `loss` was computed from, as long as no values on the way
/// were read: only what comes from variables remembers how). They are expressions like all others:
/// they run when asked for, and derivatives of them can be taken. A tensor that does not influence
/// the loss gets zeros.
[[nodiscard]] std::vector<Tensor> grad(const Tensor& loss, const std::vector<Tensor>& by);

/// The same for a tensor of any shape: the derivatives of sum(y * weights).
[[nodiscard]] std::vector<Tensor> grad(const Tensor& y, const Tensor& weights,
                                       const std::vector<Tensor>& by);

/// f(inputs), for which grad() keeps nothing but the inputs: what it needs of f is computed a
/// second time on the way back. Gradients flow to the inputs and to what else f uses (weights,
/// say), as long as that was not computed from the inputs.
[[nodiscard]] Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                const std::vector<Tensor>& inputs, Where where = Where::current());

}  // namespace weft
