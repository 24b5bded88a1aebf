#include "onnx/ops/quantize.hpp"

#include <algorithm>
#include <cmath>

#include "onnx/host.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/products.hpp"
#include "onnx/ops/windows.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/image.hpp"
#include "weft/ops.hpp"
#include "weft/quantize.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using U = std::uint64_t;

/// The lowest and the highest whole number of a type.
std::pair<double, double> limits(Type type) {
  switch (type) {
    case Type::u8: return {0, 255};
    case Type::i8: return {-128, 127};
    case Type::u16: return {0, 65535};
    case Type::i16: return {-32768, 32767};
    case Type::u4: return {0, 15};
    case Type::i4: return {-8, 7};
    case Type::u2: return {0, 3};
    case Type::i2: return {-2, 1};
    case Type::i32: return {-2147483648.0, 2147483647.0};
    default: return {0, 0};
  }
}

/// A shape for scales that are one number, one for each place of an axis, or one for each block of
/// it.
Shape spread_shape(const Call& c, const Shape& x, const Shape& scale, std::size_t axis) {
  if (count_of(scale) == 1) return Shape(x.size(), 1);
  if (scale.size() == x.size()) return scale;
  if (scale.size() != 1 || axis >= x.size() || scale[0] != x[axis])
    c.wrong(formatted("Scales {} do not fit axis {} of {}.", text_of(scale), axis, text_of(x)));
  Shape out(x.size(), 1);
  out[axis] = scale[0];
  return out;
}

/// Whether scales are those of blocks of an axis.
bool is_blocked(const Call& c, const Shape& x, const Shape& scale, std::size_t axis, U block) {
  if (block == 0 || axis >= x.size() || scale[axis] == x[axis] || scale[axis] == 1) return false;
  if (scale[axis] != x[axis] / block + (x[axis] % block == 0 ? 0 : 1))
    c.wrong(formatted("Scales {} are not those of blocks of {} in {}.", text_of(scale), block,
                      text_of(x)));
  return true;
}

/// Scales or zero points as they broadcast to x.
Tensor spread(const Call& c, const Value& value, const Shape& x, std::size_t axis, U block) {
  const Tensor t = value.on(c.device());
  const Shape shape = spread_shape(c, x, value.shape(), axis);
  Tensor out = t.reshape(shape);
  if (is_blocked(c, x, shape, axis, block))
    out = repeat_interleave(out, block, static_cast<int>(axis))
              .slice(static_cast<int>(axis), 0, x[axis]);
  return out;
}

Array spread_on_host(const Call& c, const Array& value, const Shape& x, std::size_t axis, U block) {
  Array flat = value;
  flat.shape = spread_shape(c, x, value.shape, axis);
  Places places(flat.shape);
  if (is_blocked(c, x, flat.shape, axis, block)) {
    std::vector<U> numbers;
    for (U i = 0; i < x[axis]; ++i) numbers.push_back(i / block);
    places.take(axis, numbers);
  }
  places.expand(x);
  return picked(flat, x, places.at);
}

std::size_t quantized_axis(const Call& c, std::size_t rank) {
  if (rank == 0 || c.in(1).size() == 1) return 0;
  return axis_of(c, c.i("axis", 1), rank);
}

Values quantize_linear(Call& c) {
  const Shape& x = c.shape(0);
  const std::size_t axis = quantized_axis(c, x.size());
  const auto block = static_cast<U>(c.i("block_size", 0));
  Type type = c.has(2) ? c.in(2).type() : c.type("output_dtype", Type::none);
  if (type == Type::none) type = Type::u8;
  const auto dtype = dtype_of(type);
  if (dtype && dtype_of(c.in(0).type())) {
    Tensor zero = c.has(2) ? spread(c, c.in(2), x, axis, block) : Tensor();
    return {quantized(c.t(0), spread(c, c.in(1), x, axis, block), zero, *dtype)};
  }
  const auto values = c.host(0).doubles();
  const auto scales = spread_on_host(c, c.host(1), x, axis, block).doubles();
  const auto zeros_there = c.has(2) ? spread_on_host(c, c.host(2), x, axis, block).doubles()
                                    : std::vector<double>(values.size(), 0);
  std::vector<double> out(values.size());
  const auto [low, high] = limits(type);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<double>(static_cast<float>(values[i]) / static_cast<float>(scales[i]));
    if (high != low)
      out[i] = std::clamp(std::nearbyint(out[i]) + zeros_there[i], low, high);
    else
      out[i] += zeros_there[i];
  }
  const Array wide = array_of(Type::f32, x, out);
  return {converted(wide, type, c.i("saturate", 1) != 0)};
}

Values dequantize_linear(Call& c) {
  const Shape& x = c.shape(0);
  const std::size_t axis = quantized_axis(c, x.size());
  const auto block = static_cast<U>(c.i("block_size", 0));
  const Type asked = c.type("output_dtype", Type::none);
  const Type type = asked == Type::none ? c.in(1).type() : asked;
  if (dtype_of(c.in(0).type()) && dtype_of(type)) {
    const Tensor given = c.t(0);
    Tensor y = given.to(DType::f32);
    if (c.has(2)) {
      const Tensor zero = spread(c, c.in(2), x, axis, block);
      y = given.dtype() == DType::i32 ? (given - zero).to(DType::f32) : y - zero.to(DType::f32);
    }
    return {as(y * as(spread(c, c.in(1), x, axis, block), DType::f32),
               dtype_of(type).value_or(DType::f32))};
  }
  const auto values = c.host(0).doubles();
  const auto scales = spread_on_host(c, c.host(1), x, axis, block).doubles();
  const auto zeros_there = c.has(2) ? spread_on_host(c, c.host(2), x, axis, block).doubles()
                                    : std::vector<double>(values.size(), 0);
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (values[i] - zeros_there[i]) * scales[i];
  return {array_of(type, x, out)};
}

Values dynamic_quantize(Call& c) {
  const Tensor x = c.t(0);
  const Dynamic found = dynamically_quantized(x);
  return {found.y, found.scale, found.zero};
}

/// Scales of rows, as they broadcast to a product's rows.
Tensor column(const Tensor& t) {
  return t.shape().size() == 1 && t.size() > 1 ? unsqueeze(t, 1) : t;
}

Values qlinear_matmul(Call& c) {
  const Tensor sums = whole_product(c.t(0), c.maybe(2), c.t(3), c.maybe(5)).to(DType::f32);
  const Tensor factor =
      as(column(c.t(1)), DType::f32) * as(c.t(4), DType::f32) / as(column(c.t(6)), DType::f32);
  return {quantized(sums * factor, Tensor(), column(c.t(7)), c.t(7).dtype())};
}

/// One number, or one for each channel.
Tensor by_channel(const Tensor& t, std::size_t rank) {
  Shape shape(std::max<std::size_t>(rank, 2), 1);
  shape[1] = t.size();
  return t.reshape(shape);
}

/// A convolution of 8-bit numbers less their zero points, with sums of 32 bits.
Tensor whole_conv(const Call& c, const Tensor& x, const Tensor& x_zero, const Tensor& w,
                  const Tensor& w_zero) {
  const auto whole = [](const Tensor& zero) { return zero ? zero.to(DType::i32) : zero; };
  return conv_integer(x, w, conv_options(c, x.shape(), w.shape()), whole(x_zero), whole(w_zero));
}

Values qlinear_conv(Call& c) {
  const std::size_t rank = c.shape(0).size();
  Tensor sums = whole_conv(c, c.t(0), c.maybe(2), c.t(3), c.maybe(5));
  if (c.has(8)) sums = sums + by_channel(c.t(8), rank);
  const Tensor factor =
      by_channel(as(c.t(1).reshape({}) * c.t(4), DType::f32), rank) / c.t(6).reshape({});
  return {quantized(sums.to(DType::f32) * factor, Tensor(), c.t(7).reshape({}), c.t(7).dtype())};
}

}  // namespace

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype) {
  Tensor y = as(x, DType::f32);
  if (scale) y = y / as(scale, DType::f32);
  y = round(y);
  if (zero) y = y + as(zero, DType::f32);
  const auto [low, high] = limits(type_of(dtype));
  return clamp(y, low, high).to(dtype);
}

Dynamic dynamically_quantized(const Tensor& x) {
  const Device device = x.device();
  const Tensor none = device.full({}, 0);
  const Tensor low = minimum(min(x), none);
  const Tensor high = maximum(max(x), none);
  const Tensor spread = (high - low) / 255;
  const Tensor scale = where(equal(spread, none), device.full({}, 1), spread);
  const Tensor zero = clamp(round((none - low) / scale), 0, 255);
  return {clamp(round(x / scale) + zero, 0, 255).to(DType::u8),
          where(equal(spread, none), none, spread), zero.to(DType::u8)};
}

void add_quantize(Table& table) {
  table["QuantizeLinear"] = quantize_linear;
  table["DequantizeLinear"] = dequantize_linear;
  table["com.microsoft.QuantizeLinear"] = quantize_linear;
  table["com.microsoft.DequantizeLinear"] = dequantize_linear;
  table["DynamicQuantizeLinear"] = dynamic_quantize;
  table["QLinearMatMul"] = qlinear_matmul;
  table["QLinearConv"] = qlinear_conv;
  table["ConvInteger"] =
      +[](Call& c) { return Values{whole_conv(c, c.t(0), c.maybe(2), c.t(1), c.maybe(3))}; };
}

}  // namespace weft::onnx
