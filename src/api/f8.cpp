#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "weft/device.hpp"
#include "weft/math.hpp"
#include "weft/quantize.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

/// A format of 8 bits: a sign, an exponent and `fraction` bits behind it.
struct Format {
  int fraction = 0;
  int bias = 0;
  int finite = 0;  // numbers without a sign that are finite
  bool has_infinity = false;
};

Format format_of(std::string_view function, std::string_view name, const Where& at) {
  if (name == "e4m3") return {.fraction = 3, .bias = 7, .finite = 127, .has_infinity = false};
  if (name == "e5m2") return {.fraction = 2, .bias = 15, .finite = 124, .has_infinity = true};
  refuse(function, at,
         formatted("{} knows the formats \"e4m3\" and \"e5m2\"; it was given \"{}\".", function,
                   name));
}

/// The number with these bits, which have no sign, as if the format had no end.
double number_of(const Format& format, int bits) {
  const int exponent = bits >> format.fraction;
  const int rest = bits & ((1 << format.fraction) - 1);
  if (exponent == 0) return std::ldexp(rest, 1 - format.bias - format.fraction);
  return std::ldexp(rest + (1 << format.fraction), exponent - format.bias - format.fraction);
}

}  // namespace

Tensor to_f8(In x, std::string_view format) {
  need("to_f8", "x", x.tensor, x.where);
  const Where& at = x.where;
  const Format of = format_of("to_f8", format, at);
  if (!is_float(x.tensor.dtype())) {
    refuse("to_f8", at,
           formatted("to_f8 needs a float type; it was given {}.", describe(x.tensor)));
  }
  // A number has the bits that as many steps up from 0 lead to: a step is behind the middle of two
  // neighbours, or at it where that leads to even bits.
  std::vector<float> steps(static_cast<std::size_t>(of.finite));
  for (int bits = 0; bits < of.finite; ++bits) {
    const auto middle =
        static_cast<float>((number_of(of, bits) + number_of(of, bits + 1)) / 2);  // exact
    steps[static_cast<std::size_t>(bits)] = bits % 2 == 0 ? middle : std::nextafter(middle, 0.0F);
  }
  const Device device = x.tensor.device();
  const Shape shape = x.tensor.shape();
  const Tensor flat = x.tensor.to(DType::f32, at).reshape({x.tensor.size()}, at);
  if (x.tensor.size() == 0) return flat.to(DType::u8, at).reshape(shape, at);
  Tensor bits = searchsorted(In(device.tensor({steps.size()}, steps), at), abs(In(flat, at)));
  if (of.has_infinity) {
    bits = where(In(isnan(In(flat, at)), at), device.full({}, 127, DType::i32, at), bits);
  }
  // The angle knows the sign of a zero; NaN has none.
  const Tensor angle = map("atan2", {flat, device.full({}, -1, DType::f32, at)}, {}, at);
  const Tensor negative =
      less(In(angle, at), device.full({}, 0, DType::f32, at)).to(DType::i32, at) * 128.0;
  return (bits + In(negative, at)).to(DType::u8, at).reshape(shape, at);
}

Tensor from_f8(In bits, std::string_view format, DType dtype) {
  need("from_f8", "bits", bits.tensor, bits.where);
  const Where& at = bits.where;
  const Format of = format_of("from_f8", format, at);
  if (bits.tensor.dtype() != DType::u8 || !is_float(dtype)) {
    refuse("from_f8", at,
           formatted("from_f8 makes floats of the bits in u8; it was given {} and asked for {}.",
                     describe(bits.tensor), name(dtype)));
  }
  std::vector<float> numbers(256);
  for (int i = 0; i < 128; ++i) {
    double number = number_of(of, i);
    if (i >= of.finite) {
      number = of.has_infinity && i == of.finite ? std::numeric_limits<double>::infinity()
                                                 : std::numeric_limits<double>::quiet_NaN();
    }
    numbers[static_cast<std::size_t>(i)] = static_cast<float>(number);
    numbers[static_cast<std::size_t>(i) + 128] = static_cast<float>(-number);
  }
  const Tensor table = bits.tensor.device().tensor({256}, numbers);
  return take(In(table, at), bits.tensor.to(DType::i32, at), 0).to(dtype, at);
}

}  // namespace weft
