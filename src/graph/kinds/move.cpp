#include "describe/attributes/axis.hpp"
#include "describe/attributes/pad.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/shape/shape.hpp"

namespace weft::graph::kinds {
namespace {

// concat

Result<std::vector<Type>> infer_concat(const Signature& s) {
  const std::uint32_t axis = as<AxisAttributes>(s.attributes).axis;
  if (s.inputs.empty() || axis >= s.inputs[0].rank()) {
    return fail(ErrorCode::invalid_argument, "concat needs tensors that have a dimension {}.",
                axis);
  }
  Shape shape = s.inputs[0].shape;
  shape[axis] = 0;
  for (const Type& input : s.inputs) {
    Shape rest = input.shape;
    if (rest.size() == shape.size()) {
      shape[axis] += rest[axis];
      rest[axis] = shape[axis];
    }
    if (rest != shape || input.dtype != s.inputs[0].dtype) {
      return fail(ErrorCode::invalid_argument,
                  "concat along dimension {} needs tensors that differ in nothing else; {} and {} "
                  "were given.",
                  axis, describe(s.inputs[0]), describe(input));
    }
  }
  return one(s.inputs[0].dtype, shape);
}

/// The bytes of the blocks of a quantized tensor; other tensors as they are.
ops::View in_bytes(ops::View view) {
  if (!is_quantized(view.dtype)) return view;
  const std::uint64_t elements = block_elements(view.dtype);
  const std::uint64_t bytes = block_bytes(view.dtype);
  view.shape[view.rank - 1] = view.shape[view.rank - 1] / elements * bytes;
  for (std::uint32_t i = 0; i + 1 < view.rank; ++i) {
    view.stride[i] = view.stride[i] / elements * bytes;
  }
  view.dtype = DType::u8;
  return view;
}

Result<ops::Plan> lower_concat(const LowerArgs& l) {
  ops::shape::Concat args{
      .inputs = {}, .dim = as<AxisAttributes>(l.attributes).axis, .y = in_bytes(l.outputs[0])};
  for (const ops::View& input : l.inputs) args.inputs.push_back(in_bytes(input));
  return ops::shape::plan(args, l.caps);
}

std::vector<Tensor> gradient_concat(const GradientArgs& g) {
  const std::uint32_t axis = as<AxisAttributes>(g.attributes).axis;
  std::vector<Tensor> out;
  std::uint64_t first = 0;
  for (const Tensor& input : g.inputs) {
    out.push_back(g.dy[0].slice(static_cast<int>(axis), static_cast<std::int64_t>(first),
                                input.shape()[axis]));
    first += input.shape()[axis];
  }
  return out;
}

// pad

Result<std::vector<Type>> infer_pad(const Signature& s) {
  const auto& a = as<PadAttributes>(s.attributes);
  Shape shape = s.inputs[0].shape;
  if (a.low.size() != shape.size() || a.high.size() != shape.size()) {
    return fail(ErrorCode::invalid_argument,
                "pad of {} needs a number before and after each dimension; {} and {} were given.",
                describe(s.inputs[0]), ops::describe(a.low), ops::describe(a.high));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (__builtin_add_overflow(shape[i], a.low[i], &shape[i]) ||
        __builtin_add_overflow(shape[i], a.high[i], &shape[i])) {
      return fail(ErrorCode::invalid_argument, "pad cannot add {} and {} elements to {}.", a.low[i],
                  a.high[i], describe(s.inputs[0]));
    }
  }
  return one(s.inputs[0].dtype, shape);
}

Result<ops::Plan> lower_pad(const LowerArgs& l) {
  const auto& a = as<PadAttributes>(l.attributes);
  return ops::shape::plan(
      ops::shape::Pad{
          .x = l.inputs[0], .low = a.low, .high = a.high, .value = a.value, .y = l.outputs[0]},
      l.caps);
}

std::vector<Tensor> gradient_pad(const GradientArgs& g) {
  const auto& a = as<PadAttributes>(g.attributes);
  Tensor dx = g.dy[0];
  for (std::uint32_t i = 0; i < a.low.size(); ++i) {
    if (a.low[i] + a.high[i] > 0)
      dx = dx.slice(static_cast<int>(i), static_cast<std::int64_t>(a.low[i]),
                    g.inputs[0].shape()[i]);
  }
  return {dx};
}

}  // namespace

const Rule concat{
    .name = "concat", .infer = infer_concat, .lower = lower_concat, .gradient = gradient_concat};
const Rule pad{.name = "pad", .infer = infer_pad, .lower = lower_pad, .gradient = gradient_pad};

}  // namespace weft::graph::kinds
