#include "onnx/small_floats.hpp"

#include <cmath>
#include <limits>

namespace weft::onnx {
namespace {

struct Layout {
  int mantissa = 0;
  int bias = 0;
  int bits = 8;           ///< With the sign, where there is one.
  bool infinite = false;  ///< Has infinities (and NaN above them).
  bool one_zero = false;  ///< -0 is NaN.
};

Layout layout_of(Type type) {
  switch (type) {
    case Type::f8e4m3fn: return {3, 7, 8, false, false};
    case Type::f8e4m3fnuz: return {3, 8, 8, false, true};
    case Type::f8e5m2: return {2, 15, 8, true, false};
    case Type::f8e5m2fnuz: return {2, 16, 8, false, true};
    case Type::f4e2m1: return {1, 1, 4, false, false};
    default: return {};
  }
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double small_float(Type type, std::uint8_t bits) {
  if (type == Type::f8e8m0)
    return bits == 255 ? nan : std::ldexp(1.0, static_cast<int>(bits) - 127);
  const Layout l = layout_of(type);
  if (l.mantissa == 0) return nan;
  const int sign_bit = 1 << (l.bits - 1);
  const int magnitude = bits & (sign_bit - 1);
  const double sign = (bits & sign_bit) != 0 ? -1.0 : 1.0;
  if (l.one_zero && magnitude == 0 && sign < 0) return nan;
  const int exponent = magnitude >> l.mantissa;
  const int fraction = magnitude & ((1 << l.mantissa) - 1);
  if (l.infinite && exponent == 31)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : nan;
  if (type == Type::f8e4m3fn && magnitude == 127) return nan;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - l.bias - l.mantissa);
  return sign * std::ldexp((1 << l.mantissa) + fraction, exponent - l.bias - l.mantissa);
}

std::uint8_t small_float_bits(Type type, float value, bool saturate) {
  if (type == Type::f8e8m0) {
    if (value == 0) return 0;
    if (!(value > 0) || std::isinf(value))
      return std::isinf(value) && value > 0 && saturate ? 254 : 255;
    int exponent = 0;
    const double fraction = std::frexp(static_cast<double>(value), &exponent);  // in [0.5, 1)
    const int up = fraction > 0.5 ? 1 : 0;
    const int number = exponent - 1 + up + 127;
    return static_cast<std::uint8_t>(number < 0     ? 0
                                     : number > 254 ? (saturate ? 254 : 255)
                                                    : number);
  }
  const Layout l = layout_of(type);
  const int sign_bit = 1 << (l.bits - 1);
  const int nan_bits = l.one_zero ? sign_bit : type == Type::f4e2m1 ? 0 : 127;
  const int sign = std::signbit(value) ? sign_bit : 0;
  if (std::isnan(value))
    return static_cast<std::uint8_t>(nan_bits | (l.one_zero || type == Type::f4e2m1 ? 0 : sign));
  const int largest = l.infinite ? 0x7b : type == Type::f8e4m3fn ? 0x7e : sign_bit - 1;
  const double size = std::fabs(static_cast<double>(value));
  int number = 0;
  if (std::isinf(value)) {
    number = largest + 1;
  } else if (size > 0) {
    int exponent = 0;
    std::frexp(size, &exponent);
    exponent = std::max(exponent - 1, 1 - l.bias);
    const double steps = std::nearbyint(std::ldexp(size, l.mantissa - exponent));
    number = static_cast<int>(steps) + ((exponent - (1 - l.bias)) << l.mantissa);
    if (exponent > 64) number = largest + 1;
  }
  if (number > largest) {
    if (saturate || type == Type::f4e2m1)
      number = largest;
    else if (l.infinite)
      number = 0x7c;
    else
      return static_cast<std::uint8_t>(l.one_zero ? nan_bits : nan_bits | sign);
  }
  if (number == 0 && l.one_zero) return 0;
  return static_cast<std::uint8_t>(number | sign);
}

}  // namespace weft::onnx
