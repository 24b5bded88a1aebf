#include "weft/quantize.hpp"

#include <cmath>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "graph/node.hpp"
#include "weft/device.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

/// A tensor in the shape in which its scales broadcast to it: an axis with groups is cut in two.
struct Laid {
  Shape shape;   // of the tensor
  Shape scales;  // of scale and zero point
};

Laid lay(std::string_view function, const Tensor& x, const Tensor& scale, int axis,
         std::uint64_t group, const Where& at) {
  need(function, "x", x, at);
  need(function, "its scale", scale, at);
  const Shape& shape = x.shape();
  if (!is_float(scale.dtype())) {
    refuse(function, at,
           formatted("{} needs a scale of a float type; it is {}.", function, describe(scale)));
  }
  if (scale.size() == 1 && group == 0) return {shape, Shape(shape.size(), 1)};
  const std::uint32_t number = axis_in(function, axis, shape, at);
  if (group == 0) {
    if (scale.shape() != Shape{shape[number]}) {
      refuse(function, at,
             formatted("{} of {} along axis {} needs one scale, or {} of them; the scale is {}.",
                       function, describe(x), axis, shape[number], describe(scale)));
    }
    Shape scales(shape.size(), 1);
    scales[number] = shape[number];
    return {shape, scales};
  }
  Shape grouped = shape;
  grouped[number] = shape[number] / group;
  if (shape[number] % group != 0 || scale.shape() != grouped) {
    refuse(function, at,
           formatted("{} of {} in groups of {} along axis {} needs an extent that is a multiple of "
                     "{}, and a scale for each group; the scale is {}.",
                     function, describe(x), group, axis, group, describe(scale)));
  }
  Laid laid{grouped, grouped};
  laid.shape.insert(laid.shape.begin() + number + 1, group);
  laid.scales.insert(laid.scales.begin() + number + 1, 1);
  return laid;
}

/// The zero point as f32, or nothing.
Tensor zero_of(std::string_view function, const Tensor& zero, const Tensor& scale,
               const Shape& shape, const Where& at) {
  if (!zero) return zero;
  const DType type = zero.dtype();
  if (zero.size() != scale.size() ||
      (type != DType::i32 && type != DType::i8 && type != DType::u8)) {
    refuse(function, at,
           formatted("{} needs a zero point of i32, i8 or u8 for each scale {}; it is {}.",
                     function, describe(scale), describe(zero)));
  }
  return zero.reshape(shape, at).to(DType::f32, at);
}

/// round(x / scale) + zero, or with x · scale; f32 in the shape of `laid`. NaN counts as 0.
Tensor rounded(const Tensor& x, const Tensor& scale, const Tensor& zero, const Laid& laid,
               bool inverse, const Where& at) {
  const Tensor wide = x.to(DType::f32, at).reshape(laid.shape, at);
  const Tensor by = scale.to(DType::f32, at).reshape(laid.scales, at);
  const Tensor q = map("round", {map(inverse ? "mul" : "div", {wide, by}, {}, at)}, {}, at);
  const Tensor known = where(In(isnan(In(q, at)), at), x.device().full({}, 0, DType::f32, at), q);
  return zero ? map("add", {known, zero}, {}, at) : known;
}

Tensor quantized(std::string_view function, In x, const Tensor& scale,
                 const QuantizeOptions& options, bool inverse) {
  if (options.dtype != DType::i8 && options.dtype != DType::u8) {
    refuse(function, x.where,
           formatted("{} gives i8 or u8; {} was asked for.", function, name(options.dtype)));
  }
  const Laid laid = lay(function, x.tensor, scale, options.axis, options.group, x.where);
  const Tensor zero = zero_of(function, options.zero_point, scale, laid.scales, x.where);
  const double least = options.dtype == DType::i8 ? -128 : 0;
  const double most = least + 255;
  const double low = options.low ? *options.low : least;
  const double high = options.high ? *options.high : most;
  if (low < least || high > most || low > high) {
    refuse(function, x.where,
           formatted("{} gives {} between {} and {}; the range {} to {} was asked for.", function,
                     name(options.dtype), least, most, low, high));
  }
  Tensor q = rounded(x.tensor, scale, zero, laid, inverse, x.where);
  // Floats stop at the range of the type that they become.
  if (low != least || high != most) q = map("clamp", {q}, {low, high}, x.where);
  return q.reshape(x.tensor.shape(), x.where).to(options.dtype, x.where);
}

void need_float(std::string_view function, const Tensor& x, const Where& at) {
  need(function, "x", x, at);
  if (is_float(x.dtype())) return;
  refuse(function, at, formatted("{} needs a float type; it was given {}.", function, describe(x)));
}

}  // namespace

Tensor quantize(In x, const Tensor& scale, const QuantizeOptions& options) {
  need_float("quantize", x.tensor, x.where);
  return quantized("quantize", x, scale, options, false);
}

Tensor requantize(In x, const Tensor& scale, const QuantizeOptions& options) {
  need("requantize", "x", x.tensor, x.where);
  if (x.tensor.dtype() != DType::i32) {
    refuse("requantize", x.where,
           formatted("requantize needs sums of i32; it was given {}.", describe(x.tensor)));
  }
  return quantized("requantize", x, scale, options, true);
}

Tensor dequantize(In q, const Tensor& scale, const DequantizeOptions& options) {
  const Laid laid = lay("dequantize", q.tensor, scale, options.axis, options.group, q.where);
  const DType type = q.tensor.dtype();
  if ((type != DType::i8 && type != DType::u8 && type != DType::i32) || !is_float(options.dtype)) {
    refuse("dequantize", q.where,
           formatted("dequantize makes floats of i8, u8 or i32; it was given {} and asked for {}.",
                     describe(q.tensor), name(options.dtype)));
  }
  const Tensor zero = zero_of("dequantize", options.zero_point, scale, laid.scales, q.where);
  Tensor whole = q.tensor.to(DType::f32, q.where).reshape(laid.shape, q.where);
  if (zero) whole = map("sub", {whole, zero}, {}, q.where);
  const Tensor by = scale.to(DType::f32, q.where).reshape(laid.scales, q.where);
  return map("mul", {whole, by}, {}, q.where)
      .reshape(q.tensor.shape(), q.where)
      .to(options.dtype, q.where);
}

Tensor pack_int4(In q) {
  need("pack_int4", "q", q.tensor, q.where);
  const Shape& shape = q.tensor.shape();
  const DType type = q.tensor.dtype();
  if ((type != DType::i8 && type != DType::u8) || shape.empty() || shape.back() % 2 != 0) {
    refuse("pack_int4", q.where,
           formatted("pack_int4 needs i8 or u8 with an even number of elements along the last "
                     "axis; it was given {}.",
                     describe(q.tensor)));
  }
  const std::uint64_t half = shape.back() / 2;
  const auto nibbles = [&](std::int64_t first) {
    const Tensor part = q.tensor.slice(-1, first, half, 2, q.where).to(DType::i32, q.where);
    return map("bitwise_and", {part, q.tensor.device().full({}, 15, DType::i32, q.where)}, {},
               q.where);
  };
  if (half == 0) return q.tensor.to(DType::u8, q.where);
  const Tensor both = nibbles(0) + In(nibbles(1) * 16, q.where);
  return both.to(DType::u8, q.where);
}

Tensor unpack_int4(In packed, bool with_sign) {
  need("unpack_int4", "packed", packed.tensor, packed.where);
  if (packed.tensor.dtype() != DType::u8 || packed.tensor.shape().empty()) {
    refuse("unpack_int4", packed.where,
           formatted("unpack_int4 needs u8 […, n / 2]; it was given {}.", describe(packed.tensor)));
  }
  const Where& at = packed.where;
  const Tensor bytes = packed.tensor.to(DType::i32, at);
  const Tensor mask = bytes.device().full({}, 15, DType::i32, at);
  const Tensor low = map("bitwise_and", {bytes, mask}, {}, at);
  const Tensor high = map("sub", {bytes, low}, {}, at);
  Tensor all =
      stack({low, floor_divide(In(high, at), bytes.device().full({}, 16, DType::i32, at))}, -1, at);
  Shape shape = packed.tensor.shape();
  shape.back() *= 2;
  all = all.reshape(shape, at);
  if (!with_sign) return all.to(DType::u8, at);
  // 8 to 15 are -8 to -1.
  const Tensor turned =
      map("bitwise_xor", {all, bytes.device().full({}, 8, DType::i32, at)}, {}, at);
  return (turned - 8).to(DType::i8, at);
}

Quantized quantize_dynamic(In x, const QuantizeDynamicOptions& options) {
  need_float("quantize_dynamic", x.tensor, x.where);
  const Where& at = x.where;
  const Shape& shape = x.tensor.shape();
  if (x.tensor.size() == 0 || (options.per_row && shape.empty())) {
    refuse("quantize_dynamic", at,
           formatted("quantize_dynamic measures a range, which {} does not have.",
                     describe(x.tensor)));
  }
  const Tensor wide = x.tensor.to(DType::f32, at);
  const Dims dims = options.per_row ? Dims{static_cast<int>(shape.size()) - 1} : Dims{};
  const auto extreme = [&](std::string_view function, const Tensor& of) {
    if (shape.empty()) return of;
    return reduce(function, In(of, at), dims, options.per_row);
  };
  const Tensor zero = wide.device().full({}, 0, DType::f32, at);
  const Tensor one = wide.device().full({}, 1, DType::f32, at);
  // A row of zeros has any scale.
  const auto safe = [&](const Tensor& scale) {
    return where(In(greater(In(scale, at), zero), at), scale, one);
  };
  if (options.symmetric) {
    const Tensor scale = safe(In(extreme("max", map("abs", {wide}, {}, at)), at) / 127);
    const Tensor q = map("round", {map("div", {wide, scale}, {}, at)}, {}, at);
    return {map("clamp", {q}, {-127, 127}, at).to(DType::i8, at), scale, {}};
  }
  const Tensor least = minimum(In(extreme("min", wide), at), zero);
  const Tensor most = maximum(In(extreme("max", wide), at), zero);
  const Tensor scale = safe(In(map("sub", {most, least}, {}, at), at) / 255);
  const Tensor shift = map(
      "clamp", {map("round", {map("div", {-In(least, at), scale}, {}, at)}, {}, at)}, {0, 255}, at);
  const Tensor q = map("round", {map("div", {wide, scale}, {}, at)}, {}, at) + In(shift, at);
  return {map("clamp", {q}, {0, 255}, at).to(DType::u8, at), scale, shift.to(DType::i32, at)};
}

Tensor fake_quantize(In x, const Tensor& scale, const FakeQuantizeOptions& options) {
  need_float("fake_quantize", x.tensor, x.where);
  const Where& at = x.where;
  if (options.low >= options.high) {
    refuse("fake_quantize", at,
           formatted("fake_quantize needs low < high; they are {} and {}.", options.low,
                     options.high));
  }
  const Laid laid = lay("fake_quantize", x.tensor, scale, options.axis, options.group, at);
  const Tensor zero = zero_of("fake_quantize", options.zero_point, scale, laid.scales, at);
  const Tensor wide = x.tensor.to(DType::f32, at).reshape(laid.shape, at);
  const Tensor fixed = wide.detach(at);
  const Tensor by = scale.detach(at).to(DType::f32, at).reshape(laid.scales, at);
  Tensor free = map("round", {map("div", {fixed, by}, {}, at)}, {}, at);
  if (zero) free = map("add", {free, zero}, {}, at);
  Tensor q = map("clamp", {free},
                 {static_cast<double>(options.low), static_cast<double>(options.high)}, at);
  const Tensor within = equal(In(free, at), q);
  if (zero) q = map("sub", {q, zero}, {}, at);
  const Tensor none = wide.device().full({}, 0, DType::f32, at);
  const Tensor through = where(In(within, at), wide - In(fixed, at), none);
  return (map("mul", {q, by}, {}, at) + In(through, at))
      .reshape(x.tensor.shape(), at)
      .to(x.tensor.dtype(), at);
}

}  // namespace weft
