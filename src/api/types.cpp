#include "api/types.hpp"

#include <algorithm>
#include <cmath>

#include "graph/autodiff.hpp"
#include "graph/called.hpp"
#include "graph/node.hpp"
#include "ops/map/functions.hpp"

namespace weft {
namespace {

Tensor zero_like(In x) { return graph::full_like(x.tensor, {}, x.tensor.dtype()); }

/// The name of the function that joins two partial results of a reduction.
std::string_view joining(std::string_view function) {
  return function == "sum"    ? "add"
         : function == "prod" ? "mul"
         : function == "max"  ? "maximum"
                              : "minimum";
}

}  // namespace

std::string_view adapted(std::string_view function, const std::vector<Tensor>& inputs,
                         std::array<double, 4>& scalars) {
  if (inputs.size() != 1 || !inputs[0] || is_quantized(inputs[0].dtype())) return function;
  const DType dtype = inputs[0].dtype();
  const bool rounds = function == "floor" || function == "ceil" || function == "trunc" ||
                      function.starts_with("round") || function == "nan_to_num";
  if (rounds && !is_float(dtype)) {
    scalars = {};  // what would take the place of NaN
    return "copy";
  }
  if (function == "bitwise_not" && dtype == DType::boolean) return "logical_not";
  if (function == "nan_to_num" && dtype != DType::f32) {
    const double most = dtype == DType::f16 ? 65504.0 : 0x1.fep127;
    for (double& scalar : scalars) scalar = std::clamp(scalar, -most, most);
  }
  return function;
}

std::vector<Tensor> fitted(std::string_view function, const std::vector<Tensor>& inputs,
                           Where where) {
  const ops::map::Function* found = ops::map::find_function(function);
  if (found == nullptr || inputs.empty() || found->inputs != inputs.size()) return inputs;
  if (!std::ranges::all_of(inputs, [](const Tensor& t) { return static_cast<bool>(t); }))
    return inputs;
  const std::size_t first = function == "where" ? 1 : 0;
  DType common = inputs[first].dtype();
  for (std::size_t i = first; i < inputs.size(); ++i) common = promote(common, inputs[i].dtype());
  std::vector<Tensor> out = inputs;
  for (std::size_t i = first; i < inputs.size(); ++i) {
    const DType dtype = inputs[i].dtype();
    const bool lost = dtype == DType::i64 && is_float(common);
    if (!found->integers ? !is_float(dtype) && !is_quantized(dtype) : lost)
      out[i] = inputs[i].to(is_float(common) ? common : DType::f32, where);
  }
  if (first == 1 && is_float(inputs[0].dtype()) && !is_float(common)) {
    out[0] = map("not_equal", {inputs[0], zero_like({inputs[0], where})}, {}, where);
  }
  return out;
}

std::vector<Tensor> alike(const std::vector<Tensor>& tensors, const Where& where) {
  const auto is_plain = [](const Tensor& t) { return t && !is_quantized(t.dtype()); };
  if (tensors.empty() || !std::ranges::all_of(tensors, is_plain)) return tensors;
  DType common = tensors[0].dtype();
  for (const Tensor& tensor : tensors) common = promote(common, tensor.dtype());
  std::vector<Tensor> out = tensors;
  for (Tensor& tensor : out) {
    if (tensor.dtype() != common) tensor = tensor.to(common, where);
  }
  return out;
}

Tensor beside(In x, double number) {
  if (!x.tensor) return x.tensor;
  const DType dtype = x.tensor.dtype();
  const bool whole = std::isfinite(number) && number == std::trunc(number);
  if (is_integer(dtype) && !whole) return x.tensor.to(DType::f32, x.where);
  if (dtype == DType::boolean) return x.tensor.to(whole ? DType::i32 : DType::f32, x.where);
  return x.tensor;
}

Tensor low_words(In x) { return x.tensor.to(DType::i32, x.where); }

Tensor high_words(In x) {
  const Tensor places = graph::full_like(x.tensor, {}, DType::i64, 32);
  return map("right_shift", {x.tensor, places}, {}, x.where).to(DType::i32, x.where);
}

Tensor moved(In x, const std::function<Tensor(const Tensor&)>& f) {
  const DType dtype = x.tensor.dtype();
  if (is_float(dtype) || is_quantized(dtype) || dtype == DType::i32) return f(x.tensor);
  if (dtype != DType::i64) return f(x.tensor.to(DType::i32, x.where)).to(dtype, x.where);
  const Tensor low = f(low_words(x)).to(DType::u32, x.where);
  const Tensor high = f(high_words(x)).to(DType::i64, x.where);
  const Tensor places = graph::full_like(high, {}, DType::i64, 32);
  return map("add", {map("left_shift", {high, places}, {}, x.where), low}, {}, x.where);
}

Tensor reduce_wide(std::string_view function, In x, const std::vector<std::uint32_t>& dims,
                   bool keep_dims) {
  const auto again = [&](std::string_view name, const Tensor& t, bool keep) {
    return reduce(name, {t, x.where}, {dims.begin(), dims.end()}, keep);
  };
  if (function == "any" || function == "all") {
    return again(function, map("not_equal", {x.tensor, zero_like(x)}, {}, x.where), keep_dims);
  }
  if (function == "argmax" || function == "argmin") {
    const graph::Called called(function, x.where);
    const Tensor best = again(function == "argmax" ? "max" : "min", x.tensor, true);
    return again("argmax", map("equal", {x.tensor, best}, {}, x.where), keep_dims);
  }
  if (function == "sum_squares") {
    return again("sum", map("mul", {x.tensor, x.tensor}, {}, x.where), keep_dims);
  }
  // Reduced dimensions first, as one; then halves are joined until one is left.
  const Shape& shape = x.tensor.shape();
  std::vector<int> order(dims.begin(), dims.end());
  Shape kept;
  Shape result;
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::ranges::contains(dims, i);
    if (!reduced) {
      order.push_back(static_cast<int>(i));
      kept.push_back(shape[i]);
    }
    if (!reduced || keep_dims) result.push_back(reduced ? 1 : shape[i]);
  }
  std::uint64_t count = 1;
  for (const std::uint32_t dim : dims) count *= shape[dim];
  if (count == 0) {
    if (function != "sum" && function != "prod") {
      throw Error(ErrorCode::invalid_argument, "`" + std::string(function) +
                                                   "` of no elements has no result (" +
                                                   graph::describe_place(function, x.where) + ").");
    }
    return graph::full_like(x.tensor, result, DType::i64, function == "prod" ? 1 : 0);
  }
  Shape flat = kept;
  flat.insert(flat.begin(), count);
  Tensor rest = x.tensor.permute(order, x.where).reshape(flat, x.where);
  while (count > 1) {
    const std::uint64_t half = count / 2;
    Tensor joined = map(joining(function),
                        {rest.slice(0, 0, half, 1, x.where),
                         rest.slice(0, static_cast<std::int64_t>(half), half, 1, x.where)},
                        {}, x.where);
    if (count % 2 != 0) {
      joined = concat({joined, rest.slice(0, static_cast<std::int64_t>(count - 1), 1, 1, x.where)},
                      0, x.where);
    }
    rest = joined;
    count = half + count % 2;
  }
  return rest.reshape(result, x.where);
}

}  // namespace weft
