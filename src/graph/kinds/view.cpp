#include <algorithm>
#include <numeric>

#include "describe/attributes/permute.hpp"
#include "describe/attributes/shape.hpp"
#include "describe/attributes/slice.hpp"
#include "graph/attributes/checkpoint.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// reshape

Result<std::vector<Type>> infer_reshape(const Signature& s) {
  const Type& x = s.inputs[0];
  const Shape& shape = as<ShapeAttributes>(s.attributes).shape;
  if (Type{x.dtype, shape}.count() != x.count() || shape.size() > ops::max_rank) {
    return fail(ErrorCode::invalid_argument, "A tensor of shape {} cannot be reshaped to {}.",
                ops::describe(x.shape), ops::describe(shape));
  }
  return one(x.dtype, shape);
}

/// A reshape needs no copy where each group of new dimensions covers old ones that are stepped
/// through evenly.
Result<ops::View> view_reshape(const ops::View& x, const Attributes& attributes) {
  const Shape& shape = as<ShapeAttributes>(attributes).shape;
  ops::View y = ops::View::dense(x.dtype, shape, x.slot);
  y.offset = x.offset;
  if (x.is_dense() || x.empty()) return y;
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  while (i < x.rank || j < y.rank) {
    const std::uint32_t i0 = i;
    const std::uint32_t j0 = j;
    std::uint64_t a = i < x.rank ? x.shape[i++] : 1;
    std::uint64_t b = j < y.rank ? y.shape[j++] : 1;
    while (a != b) {
      if (a < b) {
        a *= x.shape[i++];
      } else {
        b *= y.shape[j++];
      }
    }
    // Old dimensions i0…i-1 become new dimensions j0…j-1.
    std::uint64_t step = 0;
    std::uint64_t expected = 0;
    for (std::uint32_t k = i; k-- > i0;) {
      if (x.shape[k] == 1) continue;
      if (expected == 0) {
        step = x.stride[k];
      } else if (x.stride[k] != expected) {
        return fail(ErrorCode::unsupported, "{} cannot be reshaped to {} without a copy.",
                    ops::describe(x), ops::describe(shape));
      }
      expected = x.stride[k] * x.shape[k];
      if (step == 0 && a != x.shape[k]) {  // a repeated dimension merges with no other
        return fail(ErrorCode::unsupported, "{} cannot be reshaped to {} without a copy.",
                    ops::describe(x), ops::describe(shape));
      }
    }
    for (std::uint32_t k = j; k-- > j0;) {
      y.stride[k] = step;
      step *= y.shape[k];
    }
  }
  return y;
}

std::vector<Tensor> gradient_reshape(const GradientArgs& g) {
  return {g.dy[0].reshape(g.inputs[0].shape())};
}

// permute

Result<std::vector<Type>> infer_permute(const Signature& s) {
  const Type& x = s.inputs[0];
  const auto& order = as<PermuteAttributes>(s.attributes).order;
  std::vector<std::uint32_t> sorted = order;
  std::ranges::sort(sorted);
  bool valid = sorted.size() == x.rank();
  for (std::uint32_t i = 0; valid && i < sorted.size(); ++i) valid = sorted[i] == i;
  if (!valid) {
    return fail(ErrorCode::invalid_argument, "permute needs each of the {} dimensions of {} once.",
                x.rank(), ops::describe(x.shape));
  }
  if (is_quantized(x.dtype) && order.back() + 1 != x.rank()) {
    return fail(ErrorCode::unsupported,
                "The rows of {} lie in blocks, so its last dimension must stay the last.",
                describe(x));
  }
  Shape shape;
  for (const std::uint32_t dim : order) shape.push_back(x.shape[dim]);
  return one(x.dtype, shape);
}

Result<ops::View> view_permute(const ops::View& x, const Attributes& attributes) {
  return x.permute(as<PermuteAttributes>(attributes).order);
}

std::vector<Tensor> gradient_permute(const GradientArgs& g) {
  const auto& order = as<PermuteAttributes>(g.attributes).order;
  std::vector<int> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int>(i);
  return {g.dy[0].permute(inverse)};
}

// slice

Result<std::vector<Type>> infer_slice(const Signature& s) {
  const Type& x = s.inputs[0];
  const auto& a = as<SliceAttributes>(s.attributes);
  const bool inside = a.axis < x.rank() && a.step >= 1 && a.first <= x.shape[a.axis] &&
                      (a.count == 0 || (a.count - 1) <= (x.shape[a.axis] - 1) / a.step) &&
                      (a.count == 0 || a.first + (a.count - 1) * a.step < x.shape[a.axis]);
  if (!inside) {
    return fail(ErrorCode::invalid_argument,
                "Elements {} to {} (step {}) of dimension {} are not all in a tensor of shape {}.",
                a.first, a.first + a.count * a.step, a.step, a.axis, ops::describe(x.shape));
  }
  const std::uint64_t block = block_elements(x.dtype);
  if (a.axis + 1 == x.rank() && block > 1 &&
      (a.step != 1 || a.first % block != 0 || a.count % block != 0)) {
    return fail(ErrorCode::unsupported, "Rows of {} are cut between blocks of {} elements only.",
                describe(x), block);
  }
  Shape shape = x.shape;
  shape[a.axis] = a.count;
  return one(x.dtype, shape);
}

Result<ops::View> view_slice(const ops::View& x, const Attributes& attributes) {
  const auto& a = as<SliceAttributes>(attributes);
  return x.slice(a.axis, a.first, a.count, a.step);
}

std::vector<Tensor> gradient_slice(const GradientArgs& g) {
  const auto& a = as<SliceAttributes>(g.attributes);
  const Shape& whole = g.inputs[0].shape();
  Tensor dy = g.dy[0];
  if (a.step > 1) {  // put the zeros between the elements: [n] → [n,1] → [n,step] → [n·step]
    Shape split = dy.shape();
    split.insert(split.begin() + a.axis + 1, 1);
    Shape none(split.size(), 0);
    Shape rest = none;
    rest[a.axis + 1] = a.step - 1;
    Shape merged = dy.shape();
    merged[a.axis] *= a.step;
    dy = weft::pad(dy.reshape(split), none, rest).reshape(merged);
    const std::uint64_t fits = whole[a.axis] - a.first;
    if (merged[a.axis] > fits) dy = dy.slice(static_cast<int>(a.axis), 0, fits);
  }
  Shape low(whole.size(), 0);
  Shape high(whole.size(), 0);
  low[a.axis] = a.first;
  high[a.axis] = whole[a.axis] - a.first - dy.shape()[a.axis];
  return {weft::pad(dy, low, high)};
}

// broadcast

Result<std::vector<Type>> infer_broadcast(const Signature& s) {
  const Type& x = s.inputs[0];
  const Shape& shape = as<ShapeAttributes>(s.attributes).shape;
  const auto view = ops::View::dense(x.dtype, x.shape).broadcast_to(shape);
  if (!view) return std::unexpected(view.error());
  return one(x.dtype, shape);
}

Result<ops::View> view_broadcast(const ops::View& x, const Attributes& attributes) {
  return x.broadcast_to(as<ShapeAttributes>(attributes).shape);
}

std::vector<Tensor> gradient_broadcast(const GradientArgs& g) {
  return {sum_to(g.dy[0], g.inputs[0].shape())};
}

Result<std::vector<Type>> infer_same(const Signature& s) {
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

/// Computes the function again, once `dy` is there, and goes back through that: to what it is
/// given, and to what it uses besides.
std::vector<Tensor> gradient_checkpoint(const GradientArgs& g) {
  const std::size_t count = g.inputs.size() - 1;
  std::vector<Tensor> inputs;
  for (std::size_t i = 1; i <= count; ++i) {
    inputs.push_back(make(after, {}, {g.inputs[i], g.dy[0]}, Where::current()));
  }
  const Tensor again = (*as<CheckpointAttributes>(g.attributes).function)(inputs);
  std::vector<Tensor> by = inputs;
  by.insert(by.end(), g.inputs.begin() + 1, g.inputs.end());
  const std::vector<Tensor> parts = partial_derivatives(again, g.dy[0], by);
  std::vector<Tensor> out(1);
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& given = parts[i];
    const Tensor& used = parts[count + i];
    out.push_back(given && used ? given + used : given ? given : used);
  }
  return out;
}

std::vector<Tensor> gradient_after(const GradientArgs& g) { return {g.dy[0], {}}; }

Result<ops::View> view_same(const ops::View& x, const Attributes&) { return x; }

}  // namespace

const Rule reshape{
    .name = "reshape", .infer = infer_reshape, .view = view_reshape, .gradient = gradient_reshape};
const Rule permute{
    .name = "permute", .infer = infer_permute, .view = view_permute, .gradient = gradient_permute};
const Rule slice{
    .name = "slice", .infer = infer_slice, .view = view_slice, .gradient = gradient_slice};
const Rule broadcast_to{.name = "broadcast_to",
                        .infer = infer_broadcast,
                        .view = view_broadcast,
                        .gradient = gradient_broadcast};
const Rule checkpoint{
    .name = "checkpoint", .infer = infer_same, .view = view_same, .gradient = gradient_checkpoint};
const Rule after{
    .name = "after", .infer = infer_same, .view = view_same, .gradient = gradient_after};
const Rule detach{.name = "detach", .infer = infer_same, .view = view_same};

}  // namespace weft::graph::kinds
