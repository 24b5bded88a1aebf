#include "ops/nearest/nearest.hpp"

#include "describe/attributes/nearest.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

using ops::nearest::Metric;

// nearest: queries [M, K], points [N, K] → distances f32 [M, k], indices i32 [M, k]; with a count
// of 0 the distances of all points, f32 [M, N]

Result<std::vector<Type>> infer_nearest(const Signature& s) {
  const Type& queries = s.inputs[0];
  const Type& points = s.inputs[1];
  const std::uint64_t k = as<NearestAttributes>(s.attributes).count;
  const bool fits = queries.rank() == 2 && points.rank() == 2 && is_float(queries.dtype) &&
                    is_float(points.dtype) && queries.shape[1] == points.shape[1] &&
                    k <= points.shape[0];
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "The nearest points need queries [M, K] and points [N, K] of floats and k from 1 "
                "to N; they are {}, {} and {}.",
                describe(queries), describe(points), k);
  }
  if (k == 0) return one(DType::f32, {queries.shape[0], points.shape[0]});
  const Shape shape{queries.shape[0], k};
  return std::vector<Type>{{DType::f32, shape}, {DType::i32, shape}};
}

Result<ops::Plan> lower_nearest(const LowerArgs& l) {
  if (as<NearestAttributes>(l.attributes).count == 0) {
    return ops::nearest::plan(
        ops::nearest::DistanceArgs{
            .queries = l.inputs[0], .points = l.inputs[1], .y = l.outputs[0]},
        l.caps);
  }
  return ops::nearest::plan(
      {.queries = l.inputs[0],
       .points = l.inputs[1],
       .distances = l.outputs[0],
       .indices = l.outputs[1],
       .metric = static_cast<Metric>(as<NearestAttributes>(l.attributes).metric)},
      l.caps);
}

/// The derivatives of all distances by products: Σ dy/y · (a - b) over the points is Σ dy/y · a
/// less the product of dy/y with them. Both lie around the points' mean, so that little of a
/// difference is lost far from the origin.
std::vector<Tensor> gradient_distances(const GradientArgs& g) {
  const Tensor& y = g.outputs[0];
  const Tensor zero = full_like(y, {}, DType::f32);
  const Tensor apart = not_equal(y, zero);
  const Tensor one = full_like(y, {}, DType::f32, 1);
  const Tensor shares = where(apart, g.dy[0] / where(apart, y, one), zero);
  const Tensor a = g.inputs[0].to(DType::f32);
  const Tensor b = g.inputs[1].to(DType::f32);
  Tensor middle = mean(b, {0}, true).detach();
  middle = where(isfinite(middle), middle, zero);
  const Tensor left = a - middle;
  const Tensor right = b - middle;
  std::vector<Tensor> out(2);
  if (g.wanted[0]) {
    out[0] = (left * sum(shares, {1}, true) - weft::matmul(shares, right)).to(g.inputs[0].dtype());
  }
  if (g.wanted[1]) {
    const Tensor turned = shares.transpose();
    out[1] = (right * sum(turned, {1}, true) - weft::matmul(turned, left)).to(g.inputs[1].dtype());
  }
  return out;
}

/// Which points were found is no function that has slopes; how far they are away is one.
std::vector<Tensor> gradient_nearest(const GradientArgs& g) {
  if (as<NearestAttributes>(g.attributes).count == 0) return gradient_distances(g);
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
      const Tensor squares = sum(apart * apart, {2});
      // A point that is its own neighbour has no slope, and takes none.
      const Tensor zero = full_like(squares, {}, DType::f32);
      const Tensor there = not_equal(squares, zero);
      const Tensor one = full_like(squares, {}, DType::f32, 1);
      return {where(there, sqrt(where(there, squares, one)), zero)};
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
