#pragma once

#include "graph/node.hpp"
#include "weft/grad.hpp"
#include "weft/ops.hpp"

namespace weft::graph {

// Pieces that derivatives are written with.

/// What grad() gives.
std::vector<Tensor> total_derivatives(const Tensor& y, const Tensor& weights,
                                      const std::vector<Tensor>& by);

/// As grad(), but tensors in `by` count as independent of each other: nothing flows through one to another.
std::vector<Tensor> partial_derivatives(const Tensor& y, const Tensor& weights,
                                        const std::vector<Tensor>& by);

/// The sum of `x` over the dimensions that a tensor of `shape` was repeated along to get the shape of `x`.
Tensor sum_to(const Tensor& x, const Shape& shape);

/// A tensor of zeros (or another value) on the device of another tensor.
Tensor full_like(const Tensor& like, const Shape& shape, DType dtype, double value = 0);

/// The product of some extents.
std::uint64_t product(const Shape& shape);

}  // namespace weft::graph
