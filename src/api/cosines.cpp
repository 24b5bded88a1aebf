#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "api/axes.hpp"
#include "api/spectra.hpp"
#include "api/wide.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "weft/device.hpp"
#include "weft/shape.hpp"
#include "weft/transforms.hpp"

namespace weft {
namespace {

/// The place of a transform: its rows are f32 […, n] and have at least one element.
struct Line {
  std::string_view function;
  std::string_view norm;  // as that of dct()
  Where at;
};

Tensor product(const Tensor& a, const Tensor& b, const Line& line) {
  return map("mul", {a, b}, {}, line.at);
}

/// cos and sin of angles, each multiplied by a factor.
struct Turns {
  Tensor cos;
  Tensor sin;
};

/// Of π (k + first) / parts for n numbers k from 0.
Turns turns_of(const Device& device, std::uint64_t n, double first, double parts,
               const std::vector<double>& factors) {
  std::vector<float> c(n);
  std::vector<float> s(n);
  for (std::uint64_t k = 0; k < n; ++k) {
    const double angle = std::numbers::pi * (static_cast<double>(k) + first) / parts;
    c[k] = static_cast<float>(factors[k] * std::cos(angle));
    s[k] = static_cast<float>(factors[k] * std::sin(angle));
  }
  return {device.tensor({n}, c), device.tensor({n}, s)};
}

/// The real or the imaginary parts of complex numbers.
Tensor part_of(const Tensor& y, std::int64_t which, const Line& line) {
  Shape shape = y.shape();
  shape.pop_back();
  return y.slice(-1, which, 1, 1, line.at).reshape(shape, line.at);
}

/// x multiplied by cos and by sin, as complex numbers.
Tensor turned(const Tensor& x, const Turns& turns, const Line& line) {
  return stack({product(x, turns.cos, line), -In(product(x, turns.sin, line), line.at)}, -1,
               line.at);
}

/// The real part of complex numbers that are turned back by the angles.
Tensor real_part(const Tensor& y, const Turns& turns, const Line& line) {
  return product(part_of(y, 0, line), turns.cos, line) +
         In(product(part_of(y, 1, line), turns.sin, line), line.at);
}

/// What each element of the plain transform (type 2) is multiplied by.
std::vector<double> dct_factors(std::uint64_t n, const Line& line) {
  const double twice = 2 * static_cast<double>(n);
  std::vector<double> out(n, norm_factor(line.function, line.norm, twice, false, line.at));
  if (line.norm == "ortho") out[0] = std::sqrt(1 / (2 * twice));
  return out;
}

/// Type 1: the transform of what lies between two mirrors, one at each end.
Tensor mirrored(const Tensor& rows, const Line& line) {
  const Where& at = line.at;
  const std::uint64_t n = rows.shape().back();
  if (n < 2) {
    refuse(line.function, at,
           formatted("{} of type 1 needs at least 2 elements along the axis; it was given {}.",
                     line.function, describe(rows)));
  }
  const double twice = 2 * static_cast<double>(n - 1);
  const double factor = norm_factor(line.function, line.norm, twice, false, at);
  std::vector<float> before(n, 1);
  std::vector<float> behind(n, static_cast<float>(factor));
  if (line.norm == "ortho") {
    before.front() = before.back() = std::numbers::sqrt2_v<float>;
    behind.front() = behind.back() = static_cast<float>(factor / std::numbers::sqrt2);
  }
  const Device device = rows.device();
  Tensor all = product(rows, device.tensor({n}, before), line);
  if (n > 2) all = concat({all, flip(In(all.slice(-1, 1, n - 2, 1, at), at), {-1})}, -1, at);
  return product(part_of(rfft(In(all, at)), 0, line), device.tensor({n}, behind), line);
}

/// Type 2, by a complex transform of n elements: the even ones, then the odd ones from the end.
Tensor cosines(const Tensor& rows, const Line& line) {
  const Where& at = line.at;
  const std::uint64_t n = rows.shape().back();
  std::vector<double> factors = dct_factors(n, line);
  for (double& factor : factors) factor *= 2;
  Tensor mixed = rows;
  if (n > 1) {
    mixed = concat({rows.slice(-1, 0, (n + 1) / 2, 2, at),
                    flip(In(rows.slice(-1, 1, n / 2, 2, at), at), {-1})},
                   -1, at);
  }
  const Tensor none = product(mixed, rows.device().full({}, 0, DType::f32, at), line);
  const Tensor y = fft(In(stack({mixed, none}, -1, at), at));
  return real_part(y, turns_of(rows.device(), n, 0, 2 * static_cast<double>(n), factors), line);
}

/// The inverse of type 2, and with the opposite norm type 3.
Tensor from_cosines(const Tensor& rows, const Line& line) {
  const Where& at = line.at;
  const Device device = rows.device();
  const std::uint64_t n = rows.shape().back();
  const std::vector<double> factors = dct_factors(n, line);
  std::vector<float> back(n);
  for (std::uint64_t k = 0; k < n; ++k) back[k] = static_cast<float>(0.5 / factors[k]);
  const Tensor plain = product(rows, device.tensor({n}, back), line);
  Shape one = rows.shape();
  one.back() = 1;
  const Tensor zero = device.full(one, 0, DType::f32, at);
  const Tensor other =
      n == 1 ? zero : concat({zero, flip(In(plain.slice(-1, 1, n - 1, 1, at), at), {-1})}, -1, at);
  const Turns turns = turns_of(device, n, 0, 2 * static_cast<double>(n), std::vector<double>(n, 1));
  const Tensor real = product(plain, turns.cos, line) + In(product(other, turns.sin, line), at);
  const Tensor imaginary =
      product(plain, turns.sin, line) - In(product(other, turns.cos, line), at);
  const Tensor mixed = part_of(ifft(In(stack({real, imaginary}, -1, at), at)), 0, line);
  // Place i of the result is place i / 2 of the first part, or one of the second from the end.
  std::vector<std::int32_t> order(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    order[i] = static_cast<std::int32_t>(i % 2 == 0 ? i / 2 : n - 1 - i / 2);
  }
  return take(In(mixed, at), device.tensor({n}, order), -1);
}

/// Type 4: x, turned by a quarter of an element, in front of as many zeros.
Tensor quarters(const Tensor& rows, const Line& line) {
  const Where& at = line.at;
  const std::uint64_t n = rows.shape().back();
  const double twice = 2 * static_cast<double>(n);
  const double factor = 2 * norm_factor(line.function, line.norm, twice, false, at);
  const Turns before = turns_of(rows.device(), n, 0.5, twice, std::vector<double>(n, 1));
  const Turns behind = turns_of(rows.device(), n, 0, twice, std::vector<double>(n, factor));
  const Tensor given = turned(rows, before, line);
  const Shape none(given.shape().size(), 0);
  Shape more = none;
  more[more.size() - 2] = n;
  const Tensor y = fft(In(pad(In(given, at), none, more), at)).slice(-2, 0, n, 1, at);
  return real_part(y, behind, line);
}

/// The norm with which a transform undoes another one of the same factors.
std::string_view opposite(std::string_view norm) {
  if (norm == "backward") return "forward";
  return norm == "forward" ? "backward" : norm;
}

Tensor transformed(std::string_view function, In given, int axis, std::string_view norm,
                   std::uint64_t type, bool inverse) {
  const graph::Called called(function, given.where);
  if (type < 1 || type > 4) {
    refuse(function, given.where,
           formatted("{} has the types 1 to 4; it was given {}.", function, type));
  }
  // Types 2 and 3 undo each other; 1 and 4 themselves.
  const bool back = type == 3 ? !inverse : type == 2 && inverse;
  const bool turns = type == 2 ? false : (type == 3 ? true : inverse);
  const Line line{function, turns ? opposite(norm) : norm, given.where};
  return in_f32(given, [&](In x) -> Tensor {
    const int number = transform_axes(function, x, {axis}, false).front();
    if (x.tensor.size() == 0) return x.tensor;
    const Tensor rows = axis_to_last(x, static_cast<std::uint32_t>(number));
    Tensor y;
    if (type == 1) {
      y = mirrored(rows, line);
    } else if (type == 4) {
      y = quarters(rows, line);
    } else {
      y = back ? from_cosines(rows, line) : cosines(rows, line);
    }
    return axis_from_last(In(y, x.where), static_cast<std::uint32_t>(number));
  });
}

}  // namespace

Tensor dct(In x, int axis, std::string_view norm, std::uint64_t type) {
  return transformed("dct", x, axis, norm, type, false);
}
Tensor idct(In x, int axis, std::string_view norm, std::uint64_t type) {
  return transformed("idct", x, axis, norm, type, true);
}

}  // namespace weft
