#pragma once

#include <functional>
#include <vector>

#include "graph/node.hpp"
#include "weft/device.hpp"
#include "weft/grad.hpp"
#include "weft/image.hpp"
#include "weft/ops.hpp"

namespace weft::graph {

// Pieces that derivatives are written with.

/// What grad() gives.
std::vector<Tensor> total_derivatives(const Tensor& y, const Tensor& weights,
                                      const std::vector<Tensor>& by);

/// As grad(), but what is in `by` counts as independent: nothing flows through one to another. What
/// nothing flows to gets an empty tensor.
std::vector<Tensor> partial_derivatives(const Tensor& y, const Tensor& weights,
                                        const std::vector<Tensor>& by);

/// The derivatives of an operation that other operations can express: `f` gives its outputs (those
/// that a derivative is asked of) from its inputs. What is returned is an expression that can be
/// differentiated again.
std::vector<Tensor> derivatives_through(
    const GradientArgs& g,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>& f);

/// The sum of `x` over the dimensions that a tensor of `shape` was repeated along to get the shape
/// of `x`.
Tensor sum_to(const Tensor& x, const Shape& shape);

/// The sum of `x` over the places that show one element of a tensor of `shape`, which was repeated
/// as a whole along each dimension to get the shape of `x`.
Tensor tile_sum(const Tensor& x, const Shape& shape);

/// A tensor of zeros (or another value) on the device of another tensor.
Tensor full_like(const Tensor& like, const Shape& shape, DType dtype, double value = 0);

/// A small constant on the device of another tensor.
template <class T>
Tensor constant_like(const Tensor& like, const Shape& shape, const std::vector<T>& values) {
  return like.device().tensor(shape, values);
}

/// The slopes by which a mask is multiplied, one for each head: with `max_bias` above 0 as the
/// kernels of softmax and attention have them, else 1.
std::vector<float> alibi_slopes(std::uint64_t heads, float max_bias);

/// The product of some extents.
std::uint64_t product(const Shape& shape);

}  // namespace weft::graph
