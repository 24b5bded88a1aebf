#include "ops/reduce/reduce.hpp"

#include <format>

#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

using ops::reduce::Function;

bool picks(Function function) {
  return function == Function::argmax || function == Function::argmin;
}

Result<std::vector<Type>> infer_reduce(const Signature& s) {
  const auto& a = as<ReduceAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  Shape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool reduced = (a.axes >> i & 1U) != 0;
    if (!reduced) shape.push_back(x.shape[i]);
    if (reduced && a.keep_dims) shape.push_back(1);
  }
  if (a.axes >> x.shape.size() != 0) {
    return fail(ErrorCode::invalid_argument,
                "A dimension of the reduction `{}` is not one of a tensor of shape {}.",
                name(a.function), ops::describe(x.shape));
  }
  return one(picks(a.function) ? DType::i32 : x.dtype, shape);
}

Result<ops::Plan> lower_reduce(const LowerArgs& l) {
  const auto& a = as<ReduceAttributes>(l.attributes);
  return ops::reduce::plan(
      {.function = a.function, .x = l.inputs[0], .axes = a.axes, .y = l.outputs[0]}, l.caps);
}

std::vector<Tensor> gradient_reduce(const GradientArgs& g) {
  const auto& a = as<ReduceAttributes>(g.attributes);
  const Tensor& x = g.inputs[0];
  Shape kept = x.shape();
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if ((a.axes >> i & 1U) == 0) continue;
    count *= kept[i];
    kept[i] = 1;
  }
  const Tensor dy = g.dy[0].reshape(kept);
  const Tensor y = g.outputs[0].reshape(kept);
  switch (a.function) {
    case Function::sum: return {dy.broadcast_to(x.shape())};
    case Function::mean: return {(dy * (1.0 / static_cast<double>(count))).broadcast_to(x.shape())};
    case Function::max:
    case Function::min: {  // equals share
      const Tensor hit = weft::map("eq", x, y);
      Dims dims;
      for (std::uint32_t i = 0; i < kept.size(); ++i) {
        if ((a.axes >> i & 1U) != 0) dims.push_back(i);
      }
      return {hit * (dy / sum(hit, dims, true))};
    }
    case Function::prod: return {dy * y / x};
    case Function::norm: return {x * (dy / y)};
    case Function::sum_squares: return {x * (dy * 2)};
    case Function::argmax:
    case Function::argmin:
    case Function::any:
    case Function::all: return {};
  }
  return {};
}

}  // namespace

const Rule reduce{
    .name = "reduce", .infer = infer_reduce, .lower = lower_reduce, .gradient = gradient_reduce};

}  // namespace weft::graph::kinds
