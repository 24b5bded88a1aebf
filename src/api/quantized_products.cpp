#include <string_view>

#include "api/arguments.hpp"
#include "api/windows.hpp"
#include "base/format.hpp"
#include "describe/attributes/cast.hpp"
#include "graph/attributes/windows.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/device.hpp"
#include "weft/quantize.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

bool is_byte(DType type) { return type == DType::i8 || type == DType::u8; }

/// One number, or one for each of some channels, as f32 [channels].
Tensor for_channels(std::string_view function, std::string_view what, const Tensor& x,
                    std::uint64_t channels, const Where& at) {
  if (x.size() == 1) return x.to(DType::f32, at).reshape({1}, at).broadcast_to({channels}, at);
  if (x.shape() == Shape{channels}) return x.to(DType::f32, at);
  refuse(function, at,
         formatted("{} needs one {}, or one for each of {} channels; it is {}.", function, what,
                   channels, describe(x)));
}

void need_scale(std::string_view function, std::string_view what, const Tensor& x,
                const Where& at) {
  need(function, what, x, at);
  if (is_float(x.dtype())) return;
  refuse(function, at,
         formatted("{} needs {} of a float type; it is {}.", function, what, describe(x)));
}

/// A zero point as i32, or nothing.
Tensor whole(const Tensor& zero, const Where& at) { return zero ? zero.to(DType::i32, at) : zero; }

/// A scale, a bias and a zero point for each channel: f32 [3, channels]. `scale` is that of sums.
Tensor factors_of(const Tensor& scale, const Tensor& bias, const Tensor& zero, const Where& at) {
  const Tensor none = scale.device().full(scale.shape(), 0, DType::f32, at);
  return stack({scale, bias ? bias : none, zero ? zero : none}, 0, at);
}

/// What becomes of the sums of a product of whole numbers, by the scales of both sides, a bias and
/// what the result is to be.
struct Finish {
  Tensor factors;
  DType dtype = DType::f32;
};
Finish finish_of(std::string_view function, const Tensor& x_scale, const Tensor& weight_scale,
                 std::uint64_t channels, const Tensor& bias, const QuantizedResult& result,
                 const Where& at) {
  need_scale(function, "x_scale", x_scale, at);
  need_scale(function, "weight_scale", weight_scale, at);
  if (x_scale.size() != 1) {
    refuse(function, at,
           formatted("{} needs one scale for x; it is {}.", function, describe(x_scale)));
  }
  const DType dtype = result.dtype.value_or(result.scale ? DType::i8 : DType::f32);
  if (result.scale ? !is_byte(dtype) : (!is_float(dtype) || result.zero_point)) {
    refuse(function, at,
           formatted("{} gives i8 or u8 with a scale, and a float type without scale and zero "
                     "point; {} was asked for.",
                     function, name(dtype)));
  }
  Tensor scale = map("mul",
                     {for_channels(function, "weight_scale", weight_scale, channels, at),
                      x_scale.to(DType::f32, at).reshape({1}, at)},
                     {}, at);
  Tensor added = bias ? for_channels(function, "bias", bias, channels, at) : Tensor();
  Tensor zero;
  if (result.scale) {
    need_scale(function, "a scale of the result", result.scale, at);
    const Tensor by = for_channels(function, "scale of the result", result.scale, channels, at);
    scale = map("div", {scale, by}, {}, at);
    if (added) added = map("div", {added, by}, {}, at);
    if (result.zero_point) {
      zero = for_channels(function, "zero point of the result", result.zero_point, channels, at);
    }
  }
  return {factors_of(scale, added, zero, at), dtype};
}

}  // namespace

Tensor matmul_integer(In a, const Tensor& b, const Tensor& a_zero, const Tensor& b_zero) {
  return graph::make(graph::kinds::matmul_integer, graph::CastAttributes{DType::i32},
                     {a.tensor, b, a_zero, b_zero, Tensor(), Tensor()}, a.where);
}

Tensor conv_integer(In x, const Tensor& weights, const ConvOptions& options, const Tensor& x_zero,
                    const Tensor& weight_zero) {
  const graph::Called called("conv_integer", x.where);
  need("conv_integer", "x", x.tensor, x.where);
  graph::ConvAttributes attributes = conv_attributes(options, x);
  attributes.dtype = DType::i32;
  attributes.allow_f16 = false;
  return graph::make(graph::kinds::conv_integer, attributes,
                     {x.tensor, weights, x_zero, weight_zero, Tensor()}, x.where);
}

Tensor quantized_linear(In x, const Tensor& x_scale, const Tensor& weight,
                        const Tensor& weight_scale, const QuantizedLinearOptions& options) {
  need("quantized_linear", "x", x.tensor, x.where);
  need("quantized_linear", "weight", weight, x.where);
  const Where& at = x.where;
  const Shape& w = weight.shape();
  const Shape& given = x.tensor.shape();
  if (!is_byte(x.tensor.dtype()) || !is_byte(weight.dtype()) || given.empty() || w.size() != 2 ||
      given.back() != w[1]) {
    refuse("quantized_linear", at,
           formatted("quantized_linear needs x […, K] and a weight [M, K] of i8 or u8; it was "
                     "given {} and {}.",
                     describe(x.tensor), describe(weight)));
  }
  const Finish finish =
      finish_of("quantized_linear", x_scale, weight_scale, w[0], options.bias, options.result, at);
  Shape shape = given;
  shape.back() = w[0];
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < given.size(); ++i) rows *= given[i];
  return graph::make(graph::kinds::matmul_integer, graph::CastAttributes{finish.dtype},
                     {x.tensor.reshape({rows, w[1]}, at), weight.transpose(at),
                      whole(options.x_zero_point, at), whole(options.weight_zero_point, at),
                      finish.factors, Tensor()},
                     at)
      .reshape(shape, at);
}

Tensor quantized_conv(In x, const Tensor& x_scale, const Tensor& weights,
                      const Tensor& weight_scale, const QuantizedConvOptions& options) {
  need("quantized_conv", "x", x.tensor, x.where);
  need("quantized_conv", "weights", weights, x.where);
  const Where& at = x.where;
  if (!is_byte(x.tensor.dtype()) || !is_byte(weights.dtype()) || weights.shape().empty()) {
    refuse("quantized_conv", at,
           formatted("quantized_conv needs x [N, C, spatial…] and weights [OC, C / groups, k…] of "
                     "i8 or u8; it was given {} and {}.",
                     describe(x.tensor), describe(weights)));
  }
  const Finish finish = finish_of("quantized_conv", x_scale, weight_scale, weights.shape()[0],
                                  options.bias, options.result, at);
  graph::ConvAttributes attributes =
      conv_attributes({.windows = options.windows, .groups = options.groups}, x);
  attributes.dtype = finish.dtype;
  return graph::make(graph::kinds::conv_integer, attributes,
                     {x.tensor, weights, whole(options.x_zero_point, at),
                      whole(options.weight_zero_point, at), finish.factors},
                     at);
}

Tensor linear_int8(In x, const Tensor& weight, const Tensor& scale, const Tensor& bias) {
  need("linear_int8", "x", x.tensor, x.where);
  need("linear_int8", "its weight", weight, x.where);
  need("linear_int8", "its scale", scale, x.where);
  const Where& at = x.where;
  const Shape& w = weight.shape();
  if (!is_float(x.tensor.dtype()) || x.tensor.shape().empty() || w.size() != 2 ||
      weight.dtype() != DType::i8 || x.tensor.shape().back() != w[1] || !is_float(scale.dtype()) ||
      (scale.size() != 1 && scale.shape() != Shape{w[0]})) {
    refuse("linear_int8", at,
           formatted("linear_int8 needs floats x […, K], a weight i8[M,K] and one scale or [M]; it "
                     "was given {}, {} and {}.",
                     describe(x.tensor), describe(weight), describe(scale)));
  }
  Shape shape = x.tensor.shape();
  shape.back() = w[0];
  const Tensor added = bias ? for_channels("linear_int8", "bias", bias, w[0], at) : Tensor();
  if (x.tensor.size() == 0) {
    const Tensor none = x.tensor.device().full(shape, 0, x.tensor.dtype(), at);
    return added ? map("add", {none, added.to(x.tensor.dtype(), at)}, {}, at) : none;
  }
  const Tensor rows = x.tensor.reshape({x.tensor.size() / w[1], w[1]}, at);
  const Quantized q = quantize_dynamic(In(rows, at), {.per_row = true});
  const Tensor factors =
      factors_of(for_channels("linear_int8", "scale", scale, w[0], at), added, Tensor(), at);
  return graph::make(graph::kinds::matmul_integer, graph::CastAttributes{x.tensor.dtype()},
                     {q.values, weight.transpose(at), Tensor(), Tensor(), factors,
                      q.scale.reshape({rows.shape()[0]}, at)},
                     at)
      .reshape(shape, at);
}

}  // namespace weft
