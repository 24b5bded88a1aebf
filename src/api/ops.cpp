#include "weft/ops.hpp"

#include <algorithm>
#include <format>

#include "api/state.hpp"
#include "ops/cumsum/cumsum.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/map/map.hpp"
#include "ops/norm/norm.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/shape/shape.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft {
namespace {

/// The shape that two shapes broadcast to.
Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::uint64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Error(ErrorCode::invalid_argument,
                  std::format("Shapes {} and {} do not broadcast: {} and {} differ.",
                              ops::describe(a), ops::describe(b), x, y));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

const Caps& caps_of(const Tensor& tensor) { return Access::state(tensor).device->device.caps(); }

Tensor like(const Tensor& x, const Shape& shape, DType dtype) {
  return new_tensor(Access::state(x).device, dtype, shape);
}

}  // namespace

Tensor map(std::string_view function, std::span<const Tensor> inputs,
           std::array<double, 4> scalars) {
  if (inputs.empty()) throw Error(ErrorCode::invalid_argument, "map needs at least one input.");
  Shape shape = inputs.front().shape();
  for (const Tensor& input : inputs.subspan(1)) shape = broadcast(shape, input.shape());
  const Tensor y =
      like(inputs.front(), shape, inputs[function == "where" && inputs.size() > 1 ? 1 : 0].dtype());
  Slots slots;
  ops::map::Args args{.function = function, .inputs = {}, .y = {}, .scalars = scalars};
  for (const Tensor& input : inputs) args.inputs.push_back(slots.view(input));
  args.y = slots.view(y);
  slots.run(ops::map::plan(args, caps_of(y)));
  return y;
}

Tensor map(std::string_view function, const Tensor& a, std::array<double, 4> scalars) {
  return map(function, std::span(&a, 1), scalars);
}

Tensor map(std::string_view function, const Tensor& a, const Tensor& b,
           std::array<double, 4> scalars) {
  const std::array inputs{a, b};
  return map(function, std::span(inputs), scalars);
}

Tensor operator+(const Tensor& a, const Tensor& b) { return map("add", a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return map("sub", a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return map("mul", a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return map("div", a, b); }
Tensor operator-(const Tensor& a) { return map("neg", a); }
Tensor operator+(const Tensor& a, double b) { return map("scale", a, {1, b}); }
Tensor operator*(const Tensor& a, double b) { return map("scale", a, {b, 0}); }

Tensor reduce(std::string_view function, const Tensor& x, std::span<const std::uint32_t> dims,
              bool keep_dims) {
  using ops::reduce::Function;
  const auto* found = std::ranges::find_if(
      ops::reduce::all_functions, [&](Function f) { return ops::reduce::name(f) == function; });
  if (found == ops::reduce::all_functions.end()) {
    throw Error(ErrorCode::not_found, std::format("There is no reduction named `{}`.", function));
  }
  std::uint32_t axes = 0;
  for (const std::uint32_t dim : dims) {
    if (dim >= x.shape().size()) {
      throw Error(ErrorCode::invalid_argument,
                  std::format("Dimension {} is not one of a tensor of shape {}.", dim,
                              ops::describe(x.shape())));
    }
    axes |= 1U << dim;
  }
  if (dims.empty()) axes = (1U << x.shape().size()) - 1U;
  Shape shape;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    const bool reduced = (axes >> i & 1U) != 0;
    if (!reduced) shape.push_back(x.shape()[i]);
    if (reduced && keep_dims) shape.push_back(1);
  }
  const bool index = *found == Function::argmax || *found == Function::argmin;
  const Tensor y = like(x, shape, index ? DType::i32 : x.dtype());
  Slots slots;
  const ops::View from = slots.view(x);
  slots.run(ops::reduce::plan({.function = *found, .x = from, .axes = axes, .y = slots.view(y)},
                              caps_of(x)));
  return y;
}

Tensor sum(const Tensor& x, const std::vector<std::uint32_t>& dims, bool keep_dims) {
  return reduce("sum", x, dims, keep_dims);
}
Tensor mean(const Tensor& x, const std::vector<std::uint32_t>& dims, bool keep_dims) {
  return reduce("mean", x, dims, keep_dims);
}
Tensor max(const Tensor& x, const std::vector<std::uint32_t>& dims, bool keep_dims) {
  return reduce("max", x, dims, keep_dims);
}
Tensor min(const Tensor& x, const std::vector<std::uint32_t>& dims, bool keep_dims) {
  return reduce("min", x, dims, keep_dims);
}

Tensor cumsum(const Tensor& x, std::uint32_t dim) {
  const Tensor y = like(x, x.shape(), x.dtype());
  Slots slots;
  const ops::View from = slots.view(x);
  slots.run(ops::cumsum::plan({.x = from, .y = slots.view(y), .axis = dim}, caps_of(x)));
  return y;
}

namespace {

Tensor any_softmax(const Tensor& x, float scale, bool log) {
  const Tensor y = like(x, x.shape(), x.dtype());
  Slots slots;
  ops::softmax::Args args;
  args.x = slots.view(x);
  args.y = slots.view(y);
  args.scale = scale;
  args.log = log;
  slots.run(ops::softmax::plan(args, caps_of(x)));
  return y;
}

Tensor any_norm(ops::norm::Kind kind, const Tensor& x, const Tensor& weight, const Tensor& bias,
                float eps) {
  const Tensor y = like(x, x.shape(), x.dtype());
  Slots slots;
  ops::norm::Args args;
  args.kind = kind;
  args.x = slots.view(x);
  args.y = slots.view(y);
  if (weight) args.weight = slots.view(weight);
  if (bias) args.bias = slots.view(bias);
  args.eps = eps;
  slots.run(ops::norm::plan(args, caps_of(x)));
  return y;
}

}  // namespace

Tensor softmax(const Tensor& x, float scale) { return any_softmax(x, scale, false); }
Tensor log_softmax(const Tensor& x) { return any_softmax(x, 1, true); }
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  return any_norm(ops::norm::Kind::layer, x, weight, bias, eps);
}
Tensor rms_norm(const Tensor& x, const Tensor& weight, float eps) {
  return any_norm(ops::norm::Kind::rms, x, weight, {}, eps);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  const Shape& x = a.shape();
  const Shape& y = b.shape();
  if (x.size() < 2 || y.size() < 2 || x.back() != y[y.size() - 2]) {
    throw Error(ErrorCode::invalid_argument,
                std::format("matmul needs [..., M, K] and [..., K, N]; the shapes are {} and {}.",
                            ops::describe(x), ops::describe(y)));
  }
  Shape shape = broadcast(Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2));
  shape.push_back(x[x.size() - 2]);
  shape.push_back(y.back());
  const Tensor c = like(a, shape, a.dtype());
  Slots slots;
  ops::gemm::Args args;
  args.a = slots.view(a);
  args.b = slots.view(b);
  args.c = slots.view(c);
  slots.run(ops::gemm::plan(args, caps_of(a)));
  return c;
}

Tensor concat(std::span<const Tensor> tensors, std::uint32_t dim) {
  if (tensors.empty() || dim >= tensors.front().shape().size()) {
    throw Error(ErrorCode::invalid_argument,
                std::format("concat needs tensors that have a dimension {}.", dim));
  }
  Shape shape = tensors.front().shape();
  shape[dim] = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape().size() != shape.size()) {
      throw Error(
          ErrorCode::invalid_argument,
          std::format("concat needs as many dimensions of all tensors; shapes {} and {} differ.",
                      ops::describe(tensors.front().shape()), ops::describe(tensor.shape())));
    }
    shape[dim] += tensor.shape()[dim];
  }
  const Tensor y = like(tensors.front(), shape, tensors.front().dtype());
  Slots slots;
  ops::shape::Concat args;
  args.dim = dim;
  for (const Tensor& tensor : tensors) args.inputs.push_back(slots.view(tensor));
  args.y = slots.view(y);
  slots.run(ops::shape::plan(args, caps_of(y)));
  return y;
}

}  // namespace weft
