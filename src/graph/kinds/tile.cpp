#include <algorithm>

#include "describe/attributes/shape.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/repeat_back/repeat_back.hpp"
#include "ops/shape/shape.hpp"

namespace weft::graph::kinds {
namespace {

// tile: x repeated as a whole along each dimension, and tile_back: the sums of what shows one
// element

/// Whether each extent of `large` is a multiple of that of `small`.
bool multiples(const Shape& large, const Shape& small) {
  bool fit = large.size() == small.size();
  for (std::size_t i = 0; fit && i < small.size(); ++i) {
    fit = small[i] == 0 ? large[i] == 0 : large[i] % small[i] == 0;
  }
  return fit;
}

Result<std::vector<Type>> infer_tile(const Signature& s) {
  const Shape& shape = as<ShapeAttributes>(s.attributes).shape;
  if (multiples(shape, s.inputs[0].shape)) return one(s.inputs[0].dtype, shape);
  return fail(ErrorCode::invalid_argument, "{} cannot be repeated as a whole to the shape {}.",
              describe(s.inputs[0]), ops::describe(shape));
}

Result<ops::Plan> lower_tile(const LowerArgs& l) {
  return ops::shape::plan(ops::shape::Repeat{.x = l.inputs[0], .y = l.outputs[0]}, l.caps);
}

std::vector<Tensor> gradient_tile(const GradientArgs& g) {
  return {tile_sum(g.dy[0], g.inputs[0].shape())};
}

Result<std::vector<Type>> infer_tile_back(const Signature& s) {
  const Shape& shape = as<ShapeAttributes>(s.attributes).shape;
  if (multiples(s.inputs[0].shape, shape)) return one(s.inputs[0].dtype, shape);
  return fail(ErrorCode::invalid_argument, "{} does not consist of tiles of the shape {}.",
              describe(s.inputs[0]), ops::describe(shape));
}

Result<ops::Plan> lower_tile_back(const LowerArgs& l) {
  return ops::repeat_back::plan({.dy = l.inputs[0], .dx = l.outputs[0]}, l.caps);
}

std::vector<Tensor> gradient_tile_back(const GradientArgs& g) {
  return {make(tile, ShapeAttributes{g.inputs[0].shape()}, {g.dy[0]}, Where::current())};
}

}  // namespace

const Rule tile{
    .name = "tile", .infer = infer_tile, .lower = lower_tile, .gradient = gradient_tile};
const Rule tile_back{.name = "tile_back",
                     .infer = infer_tile_back,
                     .lower = lower_tile_back,
                     .gradient = gradient_tile_back};

}  // namespace weft::graph::kinds

namespace weft::graph {

Tensor tile_sum(const Tensor& x, const Shape& shape) {
  Shape same(x.shape().end() - static_cast<std::ptrdiff_t>(shape.size()), x.shape().end());
  Tensor inner = sum_to(x, same);
  if (same == shape) return inner;
  return make(kinds::tile_back, ShapeAttributes{shape}, {inner}, Where::current());
}

}  // namespace weft::graph
