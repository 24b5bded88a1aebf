#include "ops/map/map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/nearby.hpp"
#include "describe/attributes/cast.hpp"
#include "graph/attributes/fused.hpp"
#include "graph/attributes/map.hpp"
#include "graph/autodiff.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/derivatives.hpp"
#include "ops/map/wide.hpp"
#include "ops/quant/codec.hpp"
#include "ops/quant/quant.hpp"

namespace weft::graph::kinds {
namespace {

/// Functions of integers are computed in integers, so that a parameter such as 0.5 would be cut to
/// 0.
Status check_scalars(const MapAttributes& a, const Signature& s) {
  const auto integer = [](const Type& type) {
    return !is_float(type.dtype) && !is_quantized(type.dtype);
  };
  if (!std::ranges::all_of(s.inputs, integer)) return {};
  const bool wide =
      std::ranges::any_of(s.inputs, [](const Type& type) { return type.dtype == DType::i64; });
  for (const double scalar : a.scalars) {
    if (a.function == "scale" && !wide && !(scalar > -0x1p32 && scalar < 0x1p32)) {
      return fail(ErrorCode::invalid_argument, "`{}` of {} cannot have the parameter {}.",
                  called_or(a.function), describe(s.inputs.front()), scalar);
    }
    if (std::isfinite(scalar) && scalar != std::trunc(scalar)) {
      return fail(ErrorCode::invalid_argument,
                  "`{}` of {} cannot have the parameter {}, which is no whole number; convert the "
                  "tensor with to() first.",
                  called_or(a.function), describe(s.inputs.front()), scalar);
    }
  }
  return {};
}

/// The type that the values of all inputs fit; the condition of `where` is none of them.
DType common_type(const ops::map::Function& function, std::span<const Type> inputs) {
  const auto values = inputs.subspan(function.name == "where" ? 1 : 0);
  DType dtype = values.front().dtype;
  for (const Type& input : values) dtype = promote(dtype, input.dtype);
  return dtype;
}

/// An error where a function has no meaning for values of a type.
Status check_type(const ops::map::Function& function, std::span<const Type> inputs, DType dtype) {
  constexpr std::array numbers_only{"sub",       "neg",          "scale",      "div",        "fmod",
                                    "remainder", "floor_divide", "left_shift", "right_shift"};
  if (ops::map::is_bitwise(function.name) && is_float(dtype)) {
    return fail(ErrorCode::unsupported, "`{}` is defined for integers; an input is {}.",
                function.name, describe(inputs.front()));
  }
  if (!function.integers && !is_float(dtype)) {
    return fail(ErrorCode::unsupported, "`{}` is defined for floats; an input is {}.",
                function.name, describe(inputs.front()));
  }
  if (dtype == DType::boolean && std::ranges::contains(numbers_only, function.name)) {
    return fail(
        ErrorCode::unsupported,
        "`{}` is defined for numbers; {} holds booleans (logical_xor and logical_not are for "
        "those).",
        function.name, describe(inputs.front()));
  }
  if (dtype == DType::i64 && !ops::map::has_wide(function.name)) {
    return fail(ErrorCode::unsupported, "There is no `{}` of i64; an input is {}.", function.name,
                describe(inputs.front()));
  }
  return {};
}

Result<std::vector<Type>> infer_map(const Signature& s) {
  const auto& a = as<MapAttributes>(s.attributes);
  const ops::map::Function* function = ops::map::find_function(a.function);
  if (function == nullptr) {
    std::vector<std::string_view> names;
    for (const ops::map::Function& each : ops::map::functions()) {
      if (each.family != ops::map::Family::backward) names.push_back(each.name);
    }
    const std::string hint = nearby(a.function, names);
    return fail(ErrorCode::not_found,
                "There is no elementwise function named `{}`; {}{}docs/ops.md lists them.",
                a.function, hint, hint.empty() ? "" : " ");
  }
  if (function->inputs != s.inputs.size()) {
    return fail(ErrorCode::invalid_argument, "`{}` takes {} inputs; {} were given.", a.function,
                function->inputs, s.inputs.size());
  }
  if (s.inputs.empty()) return one(a.dtype, a.shape);
  if (const Status ok = check_scalars(a, s); function->integers && !ok) {
    return std::unexpected(ok.error());
  }
  Shape shape;
  for (const Type& input : s.inputs) {
    if (!input.given) {
      return fail(ErrorCode::invalid_argument, "An input of `{}` is empty.", a.function);
    }
    if (is_quantized(input.dtype)) {
      return fail(ErrorCode::unsupported,
                  "`{}` takes no quantized tensors; {} is converted with to().", a.function,
                  describe(input));
    }
    if (shape == input.shape) continue;
    auto both = graph::broadcast(shape, input.shape);
    if (!both) return std::unexpected(both.error());
    shape = std::move(*both);
  }
  const DType dtype = common_type(*function, s.inputs);
  if (const Status ok = check_type(*function, s.inputs, dtype); !ok)
    return std::unexpected(ok.error());
  return one(ops::map::gives_boolean(a.function) ? DType::boolean : dtype, std::move(shape));
}

bool any_wide(std::span<const ops::View> views) {
  return std::ranges::any_of(views, [](const ops::View& v) { return v.dtype == DType::i64; });
}

Result<ops::Plan> lower_map(const LowerArgs& l) {
  const auto& a = as<MapAttributes>(l.attributes);
  const ops::map::Args args{.function = a.function,
                            .inputs = {l.inputs.begin(), l.inputs.end()},
                            .y = l.outputs[0],
                            .scalars = a.scalars};
  // Numbers with and without signs that are compared have a common type that no input has.
  DType common = DType::boolean;
  for (const ops::View& input : l.inputs.subspan(a.function == "where" ? 1 : 0)) {
    common = promote(common, input.dtype);
  }
  const bool wide = common == DType::i64 || any_wide(l.outputs);
  return wide ? ops::map::plan_wide(args, l.caps) : ops::map::plan(args, l.caps);
}

/// Derivatives are formed in f32, whatever the type of the inputs is.
std::vector<Tensor> gradient_map(const GradientArgs& g) {
  const auto& a = as<MapAttributes>(g.attributes);
  const auto wide = [](const Tensor& t) { return is_float(t.dtype()) ? t.to(DType::f32) : t; };
  std::vector<Tensor> inputs;
  for (const Tensor& input : g.inputs) inputs.push_back(wide(input));
  const auto parts =
      derivatives(a.function, inputs, wide(g.outputs[0]), wide(g.dy[0]), a.scalars, g.wanted);
  std::vector<Tensor> out(g.inputs.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] && g.wanted[i]) {
      out[i] = sum_to(parts[i], g.inputs[i].shape()).to(g.inputs[i].dtype());
    }
  }
  return out;
}

/// Blocks of quantized types are made from floats, and become floats.
Result<std::vector<Type>> infer_cast(const Signature& s) {
  const DType from = s.inputs[0].dtype;
  const DType to = as<CastAttributes>(s.attributes).dtype;
  const bool fits = is_quantized(to)     ? is_float(from) && ops::quant::can_quantize(to)
                    : is_quantized(from) ? is_float(to)
                                         : true;
  if (!fits) {
    return fail(ErrorCode::unsupported, "{} cannot be converted to {}.", describe(s.inputs[0]),
                name(to));
  }
  return one(as<CastAttributes>(s.attributes).dtype, s.inputs[0].shape);
}

Result<std::vector<Type>> infer_copy(const Signature& s) {
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_copy(const LowerArgs& l) {
  const ops::View& x = l.inputs[0];
  const ops::View& y = l.outputs[0];
  if (is_quantized(x.dtype) && is_quantized(y.dtype)) {
    return ops::quant::plan(ops::quant::CopyArgs{.x = x, .y = y}, l.caps);
  }
  if (is_quantized(x.dtype)) {
    return ops::quant::plan(ops::quant::DecodeArgs{.table = x, .y = y}, l.caps);
  }
  if (is_quantized(y.dtype)) {
    return ops::quant::plan(ops::quant::EncodeArgs{.x = x, .table = y}, l.caps);
  }
  const ops::map::Args args{.function = "copy", .inputs = {l.inputs[0]}, .y = l.outputs[0]};
  const bool wide = x.dtype != y.dtype && (any_wide(l.inputs) || any_wide(l.outputs));
  return wide ? ops::map::plan_wide(args, l.caps) : ops::map::plan(args, l.caps);
}

std::vector<Tensor> gradient_cast(const GradientArgs& g) {
  return {g.dy[0].to(g.inputs[0].dtype())};
}

Result<std::vector<Type>> infer_fused(const Signature& s) {
  const auto& a = as<FusedAttributes>(s.attributes);
  return one(a.dtype, a.shape);
}

Result<ops::Plan> lower_fused(const LowerArgs& l) {
  return ops::fused::plan({.inputs = {l.inputs.begin(), l.inputs.end()},
                           .steps = as<FusedAttributes>(l.attributes).steps,
                           .y = l.outputs[0]},
                          l.caps);
}

constexpr InPlace over_any[] = {{0, 0}, {0, 1}, {0, 2}};
constexpr InPlace over_each[] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}};

}  // namespace

const Rule map{.name = "map",
               .infer = infer_map,
               .lower = lower_map,
               .gradient = gradient_map,
               .in_place = over_any};
const Rule fused{
    .name = "fused", .infer = infer_fused, .lower = lower_fused, .in_place = over_each};
const Rule cast{
    .name = "cast", .infer = infer_cast, .lower = lower_copy, .gradient = gradient_cast};
const Rule copy{
    .name = "copy", .infer = infer_copy, .lower = lower_copy, .gradient = gradient_cast};

}  // namespace weft::graph::kinds
