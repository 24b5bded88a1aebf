#include "ops/nearest/nearest.hpp"

#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

using ops::nearest::Metric;

// nearest: queries [M, K], points [N, K] → distances f32 [M, k], indices i32 [M, k]

Result<std::vector<Type>> infer_nearest(const Signature& s) {
  const Type& queries = s.inputs[0];
  const Type& points = s.inputs[1];
  const std::uint64_t k = as<NearestAttributes>(s.attributes).count;
  const bool fits = queries.rank() == 2 && points.rank() == 2 && is_float(queries.dtype) &&
                    is_float(points.dtype) && queries.shape[1] == points.shape[1] && k > 0 &&
                    k <= points.shape[0] && k <= ops::nearest::most_neighbours;
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "The nearest points need queries [M, K] and points [N, K] of floats and k from 1 "
                "to N and {}; they are {}, {} and {}.",
                ops::nearest::most_neighbours, describe(queries), describe(points), k);
  }
  const Shape shape{queries.shape[0], k};
  return std::vector<Type>{{DType::f32, shape}, {DType::i32, shape}};
}

Result<ops::Plan> lower_nearest(const LowerArgs& l) {
  return ops::nearest::plan(
      {.queries = l.inputs[0],
       .points = l.inputs[1],
       .distances = l.outputs[0],
       .indices = l.outputs[1],
       .metric = static_cast<Metric>(as<NearestAttributes>(l.attributes).metric)},
      l.caps);
}

/// Which points were found is no function that has slopes; how far they are away is one.
std::vector<Tensor> gradient_nearest(const GradientArgs& g) {
  const auto metric = static_cast<Metric>(as<NearestAttributes>(g.attributes).metric);
  const Tensor& found = g.outputs[1];
  return derivatives_through(g, [&](const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
    const Shape& shape = found.shape();
    const std::uint64_t size = inputs[0].shape()[1];
    const Tensor queries = inputs[0].to(DType::f32).reshape({shape[0], 1, size});
    const Tensor near = weft::embedding(inputs[1].to(DType::f32), found.reshape({found.size()}))
                            .reshape({shape[0], shape[1], size});
    if (metric == Metric::euclidean) {
      const Tensor apart = near - queries;
      return {sqrt(sum(apart * apart, {2}))};
    }
    const Tensor products = sum(near * queries, {2});
    return {metric == Metric::cosine ? 1.0 - products : products};
  });
}

}  // namespace

const Rule nearest{.name = "nearest",
                   .infer = infer_nearest,
                   .lower = lower_nearest,
                   .gradient = gradient_nearest};

}  // namespace weft::graph::kinds
