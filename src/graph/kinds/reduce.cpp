#include "ops/reduce/reduce.hpp"

#include <algorithm>
#include <format>

#include "graph/attributes/reduce.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

using ops::reduce::Function;

bool picks(Function function) {
  return function == Function::argmax || function == Function::argmin;
}

/// Sums and products of narrow integers and of booleans have more room; questions have booleans as
/// answers.
DType result_type(Function function, DType dtype) {
  if (picks(function)) return DType::i32;
  if (function == Function::any || function == Function::all) return DType::boolean;
  const bool adds = function == Function::sum || function == Function::prod;
  if (!adds || is_float(dtype) || size_of(dtype) >= 4) return dtype;
  return dtype == DType::u8 ? DType::u32 : DType::i32;
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
  const bool extreme =
      a.function == Function::max || a.function == Function::min || picks(a.function);
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if ((a.axes >> i & 1U) != 0) count *= x.shape[i];
  }
  if (extreme && count == 0) {
    return fail(ErrorCode::invalid_argument, "`{}` of no elements has no result; the tensor is {}.",
                name(a.function), describe(x));
  }
  if (a.axes >> x.shape.size() != 0) {
    return fail(ErrorCode::invalid_argument,
                "A dimension of the reduction `{}` is not one of a tensor of shape {}.",
                name(a.function), ops::describe(x.shape));
  }
  if (x.dtype == DType::i64 || is_quantized(x.dtype)) {
    return fail(ErrorCode::unsupported, "There is no `{}` of {}; convert it with to() first.",
                name(a.function), describe(x));
  }
  return one(result_type(a.function, x.dtype), shape);
}

Result<ops::Plan> lower_reduce(const LowerArgs& l) {
  const auto& a = as<ReduceAttributes>(l.attributes);
  return ops::reduce::plan(
      {.function = a.function, .x = l.inputs[0], .axes = a.axes, .y = l.outputs[0]}, l.caps);
}

/// 1 where x is 0, else 0.
Tensor is_zero(const Tensor& x) {
  return weft::map("equal", x, full_like(x, {}, x.dtype())).to(x.dtype());
}

/// The product of all others, for each element: of those before it and of those behind it. Nothing
/// is divided, so that zeros have derivatives too, and second ones.
Tensor product_gradient(const Tensor& x, const Tensor& dy, const Dims& dims) {
  const auto is_gone = [&](int d) { return std::ranges::find(dims, d) != dims.end(); };
  const auto rank = static_cast<int>(x.shape().size());
  Dims order;  // what stays, then what goes, as one axis
  Shape rows;
  std::uint64_t n = 1;
  for (int d = 0; d < rank; ++d) {
    if (is_gone(d)) continue;
    order.push_back(d);
    rows.push_back(x.shape()[static_cast<std::size_t>(d)]);
  }
  for (const int d : dims) {
    order.push_back(d);
    n *= x.shape()[static_cast<std::size_t>(d)];
  }
  if (n == 0) return dy.broadcast_to(x.shape());
  const int axis = static_cast<int>(rows.size());
  rows.push_back(n);
  const Tensor moved = x.to(DType::f32).permute(order);
  const Tensor line = moved.reshape(rows);
  const Shape none(rows.size(), 0);
  Shape one = none;
  one.back() = 1;
  const Tensor before = weft::pad(cumprod(line, axis).slice(axis, 0, n - 1), one, none, 1);
  const Tensor behind = weft::pad(cumprod(line, axis, true).slice(axis, 1, n - 1), none, one, 1);
  Dims back = order;
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  const Tensor others = (before * behind).reshape(moved.shape()).permute(back);
  return dy * others.to(x.dtype());
}

std::vector<Tensor> gradient_reduce(const GradientArgs& g) {
  const auto& a = as<ReduceAttributes>(g.attributes);
  const Tensor& x = g.inputs[0];
  Shape kept = x.shape();
  Dims dims;
  std::uint64_t count = 1;
  for (std::uint32_t i = 0; i < kept.size(); ++i) {
    if ((a.axes >> i & 1U) == 0) continue;
    count *= kept[i];
    kept[i] = 1;
    dims.push_back(static_cast<int>(i));
  }
  const Tensor dy = g.dy[0].reshape(kept);
  const Tensor y = g.outputs[0].reshape(kept);
  switch (a.function) {
    case Function::sum: return {dy.broadcast_to(x.shape())};
    case Function::mean: return {(dy * (1.0 / static_cast<double>(count))).broadcast_to(x.shape())};
    case Function::max:
    case Function::min: {  // equals share
      const Tensor hit = weft::map("equal", x, y).to(x.dtype());
      return {hit * (dy / sum(hit, dims, true))};
    }
    case Function::prod: return {product_gradient(x, dy, dims)};
    // The length has a corner at 0, where 0 is one of its slopes: divided by 1, x is that.
    case Function::norm: return {x * (dy / (y + is_zero(y)))};
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
