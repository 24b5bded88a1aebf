#include "weft/transforms.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "api/axes.hpp"
#include "api/wide.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "weft/device.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

/// What the unscaled transform of n elements is multiplied by; `inverse` for its inverse.
double share(std::string_view function, std::string_view norm, double n, bool inverse,
             const Where& at) {
  const double all = n == 0 ? 1 : n;
  if (norm == "ortho") return 1 / std::sqrt(all);
  if (norm == (inverse ? "backward" : "forward")) return 1 / all;
  if (norm == "backward" || norm == "forward") return 1;
  refuse(function, at,
         formatted("{} has the norms \"backward\", \"ortho\" and \"forward\"; it was given \"{}\".",
                   function, norm));
}

Tensor scaled(const Tensor& x, double factor, const Where& at) {
  return factor == 1 ? x : In(x, at) * factor;
}

/// The axes of complex numbers (`complex`) or real ones, from the front; all where none are named.
std::vector<int> axes_of(std::string_view function, In x, const Dims& axes, bool complex) {
  need(function, "x", x.tensor, x.where);
  Shape shape = x.tensor.shape();
  const bool fits = complex ? shape.size() >= 2 && shape.back() == 2 : !shape.empty();
  if (!fits || !is_float(x.tensor.dtype())) {
    refuse(
        function, x.where,
        formatted("{} needs {}; it was given {}.", function,
                  complex ? "complex numbers […, n, 2] of floats" : "real numbers […, n] of floats",
                  describe(x.tensor)));
  }
  if (complex) shape.pop_back();
  auto numbers = axes_in(function, axes, shape, x.where);
  if (axes.empty()) {
    numbers.resize(shape.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
  }
  return {numbers.begin(), numbers.end()};
}

double count_along(const Tensor& x, const Dims& axes) {
  double count = 1;
  for (const int axis : axes)
    count *= static_cast<double>(x.shape()[static_cast<std::size_t>(axis)]);
  return count;
}

/// The transform along axes from the front, without a factor.
Tensor through(In x, const Dims& axes, bool inverse) {
  Tensor y = x.tensor;
  for (const int axis : axes) y = inverse ? ifft(In(y, x.where), axis) : fft(In(y, x.where), axis);
  return y;
}

Tensor complex_transform(std::string_view function, In given, const Dims& axes,
                         std::string_view norm, bool inverse) {
  const graph::Called called(function, given.where);
  const std::vector<int> numbers = axes_of(function, given, axes, true);
  const double n = count_along(given.tensor, numbers);
  const double factor = share(function, norm, n, inverse, given.where);
  return in_f32(given, [&](In x) {
    // ifft() has divided by n already.
    return scaled(through(x, numbers, inverse), inverse ? factor * n : factor, x.where);
  });
}

Tensor of_real(std::string_view function, In given, const Dims& axes, std::string_view norm) {
  const graph::Called called(function, given.where);
  std::vector<int> numbers = axes_of(function, given, axes, false);
  const double factor =
      share(function, norm, count_along(given.tensor, numbers), false, given.where);
  const int last = numbers.back();
  numbers.pop_back();
  return in_f32(given, [&](In x) {
    return scaled(through(In(rfft(x, last), x.where), numbers, false), factor, x.where);
  });
}

Tensor to_real(std::string_view function, In given, std::uint64_t n, const Dims& axes,
               std::string_view norm) {
  const graph::Called called(function, given.where);
  std::vector<int> numbers = axes_of(function, given, axes, true);
  const int last = numbers.back();
  numbers.pop_back();
  const double count = count_along(given.tensor, numbers) * static_cast<double>(n);
  const double factor = share(function, norm, count, true, given.where);
  return in_f32(given, [&](In x) {
    const Tensor y = irfft(In(through(x, numbers, true), x.where), n, last);
    return scaled(y, factor * count, x.where);
  });
}

std::vector<int> two(std::string_view function, const Dims& axes, const Where& at) {
  if (axes.empty()) return {-2, -1};
  if (axes.size() == 2) return axes;
  refuse(function, at, formatted("{} goes along two axes; {} were named.", function, axes.size()));
}

/// How the frames of a signal lie.
struct Frames {
  std::uint64_t hop = 0;
  std::uint64_t half = 0;  // what is added at each end
  Tensor window;
};

Frames frames_of(std::string_view function, std::uint64_t n, const StftOptions& options,
                 const Device& device, const Where& at) {
  Frames frames{options.hop == 0 ? n / 4 : options.hop, options.center ? n / 2 : 0, options.window};
  if (n == 0 || frames.hop == 0 || frames.hop > n ||
      (frames.window && (frames.window.shape() != Shape{n} || !is_float(frames.window.dtype())))) {
    refuse(function, at,
           formatted("{} with frames of {} samples needs a hop from 1 to {} and a window of {} "
                     "floats; the hop is {} and the window {}.",
                     function, n, n, n, frames.hop,
                     frames.window ? describe(frames.window) : "left out"));
  }
  frames.window =
      frames.window ? frames.window.to(DType::f32, at) : device.full({n}, 1, DType::f32, at);
  return frames;
}

/// Which sample each place of each frame is: i32 [frames, n].
Tensor places(const Device& device, std::uint64_t count, std::uint64_t n, std::uint64_t hop,
              const Where& at) {
  const Tensor first = device.arange(count, 0, static_cast<double>(hop), DType::i32, at);
  const Tensor behind = device.arange(n, 0, 1, DType::i32, at);
  return first.reshape({count, 1}, at) + In(behind.reshape({1, n}, at), at);
}

}  // namespace

Tensor fftn(In x, const Dims& axes, std::string_view norm) {
  return complex_transform("fftn", x, axes, norm, false);
}
Tensor ifftn(In x, const Dims& axes, std::string_view norm) {
  return complex_transform("ifftn", x, axes, norm, true);
}
Tensor fft2(In x, const Dims& axes, std::string_view norm) {
  return complex_transform("fft2", x, two("fft2", axes, x.where), norm, false);
}
Tensor ifft2(In x, const Dims& axes, std::string_view norm) {
  return complex_transform("ifft2", x, two("ifft2", axes, x.where), norm, true);
}
Tensor rfftn(In x, const Dims& axes, std::string_view norm) {
  return of_real("rfftn", x, axes, norm);
}
Tensor irfftn(In x, std::uint64_t n, const Dims& axes, std::string_view norm) {
  return to_real("irfftn", x, n, axes, norm);
}
Tensor rfft2(In x, const Dims& axes, std::string_view norm) {
  return of_real("rfft2", x, two("rfft2", axes, x.where), norm);
}
Tensor irfft2(In x, std::uint64_t n, const Dims& axes, std::string_view norm) {
  return to_real("irfft2", x, n, two("irfft2", axes, x.where), norm);
}

namespace {

Tensor frames_transformed(In x, std::uint64_t n, const StftOptions& options) {
  (void)axes_of("stft", x, {-1}, false);
  const Where& at = x.where;
  const Frames frames = frames_of("stft", n, options, x.tensor.device(), at);
  Shape shape = x.tensor.shape();
  const std::uint64_t samples = shape.back();
  if (samples + 2 * frames.half < n || (frames.half > 0 && samples <= frames.half)) {
    refuse("stft", at,
           formatted("stft of {} cannot have frames of {} samples.", describe(x.tensor), n));
  }
  Tensor signal = x.tensor;
  if (frames.half > 0) {
    Shape ends(shape.size(), 0);
    ends.back() = frames.half;
    signal = pad(In(signal, at), ends, ends, Edge::reflect);
  }
  const std::uint64_t count = 1 + (samples + 2 * frames.half - n) / frames.hop;
  const Tensor cut = take(In(signal, at), places(x.tensor.device(), count, n, frames.hop, at), -1);
  const double factor = share("stft", options.norm, static_cast<double>(n), false, at);
  const Tensor y = rfft(In(map("mul", {cut, frames.window}, {}, at), at));
  return scaled(swapaxes(In(y, at), -3, -2), factor, at);
}

Tensor frames_joined(In x, std::uint64_t n, std::uint64_t samples, const StftOptions& options) {
  (void)axes_of("istft", x, {-1}, true);
  const Where& at = x.where;
  const Device device = x.tensor.device();
  const Frames frames = frames_of("istft", n, options, device, at);
  Shape shape = x.tensor.shape();
  const std::size_t rank = shape.size();
  if (rank < 3 || shape[rank - 3] != n / 2 + 1 || shape[rank - 2] == 0) {
    refuse("istft", at,
           formatted("istft with frames of {} samples needs […, {}, frames, 2]; it was given {}.",
                     n, n / 2 + 1, describe(x.tensor)));
  }
  const std::uint64_t count = shape[rank - 2];
  const std::uint64_t length = (count - 1) * frames.hop + n;
  const double all = static_cast<double>(n);
  const double factor = share("istft", options.norm, all, true, at) * all;
  const Tensor pieces = irfft(In(swapaxes(x, -3, -2), at), n);
  const std::uint64_t rows = count * n == 0 ? 0 : pieces.size() / (count * n);
  const Tensor weighted = map("mul", {scaled(pieces, factor, at), frames.window}, {}, at);
  const Tensor where_to = places(device, count, n, frames.hop, at).reshape({1, count * n}, at);
  const auto added = [&](const Tensor& parts, std::uint64_t lines) {
    return scatter_add(In(device.full({lines, length}, 0, DType::f32, at), at),
                       where_to.broadcast_to({lines, count * n}, at), parts, 1);
  };
  const Tensor sums = added(weighted.reshape({rows, count * n}, at), rows);
  const Tensor square = map("mul", {frames.window, frames.window}, {}, at);
  const Tensor weights = added(
      square.reshape({1, 1, n}, at).broadcast_to({1, count, n}, at).reshape({1, count * n}, at), 1);
  const Tensor covered = greater(In(weights, at), device.full({}, 1e-11, DType::f32, at));
  const Tensor by = where(In(covered, at), weights, device.full({}, 1, DType::f32, at));
  Tensor y = map("div", {sums, by}, {}, at);
  // From the end of what was added in front; zeros behind what the frames cover.
  const std::uint64_t left = length > frames.half ? length - frames.half : 0;
  const std::uint64_t kept = std::min(left, samples);
  y = y.slice(1, static_cast<std::int64_t>(std::min(frames.half, length)), kept, 1, at);
  if (kept < samples) y = pad(In(y, at), {0, 0}, {0, samples - kept});
  Shape out(shape.begin(), shape.end() - 3);
  out.push_back(samples);
  return y.reshape(out, at);
}

/// cos and sin of π k / 2n, multiplied by the factor of element k.
struct Turns {
  Tensor cos;
  Tensor sin;
};

Turns turns_of(const Device& device, std::uint64_t n, const std::vector<double>& factors) {
  std::vector<float> c(n);
  std::vector<float> s(n);
  for (std::uint64_t k = 0; k < n; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(k) / (2 * static_cast<double>(n));
    c[k] = static_cast<float>(factors[k] * std::cos(angle));
    s[k] = static_cast<float>(factors[k] * std::sin(angle));
  }
  return {device.tensor({n}, c), device.tensor({n}, s)};
}

/// What each element of the plain transform is multiplied by.
std::vector<double> dct_factors(std::string_view function, std::uint64_t n, std::string_view norm,
                                const Where& at) {
  const double twice = 2 * static_cast<double>(n);
  std::vector<double> out(n, share(function, norm, twice, false, at));
  if (norm == "ortho" && n > 0) out[0] = std::sqrt(1 / (2 * twice));
  return out;
}

/// By a complex transform of n elements: the even ones, then the odd ones from the end.
Tensor cosines(In x, int axis, std::string_view norm) {
  const int number = axes_of("dct", x, {axis}, false).front();
  const Where& at = x.where;
  const Tensor rows = axis_to_last(x, static_cast<std::uint32_t>(number));
  const std::uint64_t n = rows.shape().back();
  std::vector<double> factors = dct_factors("dct", n, norm, at);
  if (rows.size() == 0) return x.tensor;
  for (double& factor : factors) factor *= 2;
  Tensor mixed = rows;
  if (n > 1) {
    mixed = concat({rows.slice(-1, 0, (n + 1) / 2, 2, at),
                    flip(In(rows.slice(-1, 1, n / 2, 2, at), at), {-1})},
                   -1, at);
  }
  const Tensor none = map("mul", {mixed, rows.device().full({}, 0, DType::f32, at)}, {}, at);
  const Tensor y = fft(In(stack({mixed, none}, -1, at), at));
  const auto part = [&](std::int64_t which) {
    return y.slice(-1, which, 1, 1, at).reshape(rows.shape(), at);
  };
  const Turns turns = turns_of(x.tensor.device(), n, factors);
  const Tensor sum =
      map("mul", {part(0), turns.cos}, {}, at) + In(map("mul", {part(1), turns.sin}, {}, at), at);
  return axis_from_last(In(sum, at), static_cast<std::uint32_t>(number));
}

Tensor from_cosines(In x, int axis, std::string_view norm) {
  const int number = axes_of("idct", x, {axis}, false).front();
  const Where& at = x.where;
  const Tensor rows = axis_to_last(x, static_cast<std::uint32_t>(number));
  const std::uint64_t n = rows.shape().back();
  std::vector<double> factors = dct_factors("idct", n, norm, at);
  if (rows.size() == 0) return x.tensor;
  std::vector<float> back(n);
  for (std::uint64_t k = 0; k < n; ++k) back[k] = static_cast<float>(0.5 / factors[k]);
  const Tensor plain = map("mul", {rows, x.tensor.device().tensor({n}, back)}, {}, at);
  Shape one = rows.shape();
  one.back() = 1;
  const Tensor zero = rows.device().full(one, 0, DType::f32, at);
  const Tensor mirrored =
      n == 1 ? zero : concat({zero, flip(In(plain.slice(-1, 1, n - 1, 1, at), at), {-1})}, -1, at);
  const Turns turns = turns_of(x.tensor.device(), n, std::vector<double>(n, 1));
  const auto product = [&](const Tensor& a, const Tensor& b) { return map("mul", {a, b}, {}, at); };
  const Tensor real = product(plain, turns.cos) + In(product(mirrored, turns.sin), at);
  const Tensor imaginary = product(plain, turns.sin) - In(product(mirrored, turns.cos), at);
  const Tensor mixed = ifft(In(stack({real, imaginary}, -1, at), at))
                           .slice(-1, 0, 1, 1, at)
                           .reshape(rows.shape(), at);
  // Place i of the result is place i / 2 of the first part, or one of the second from the end.
  std::vector<std::int32_t> order(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    order[i] = static_cast<std::int32_t>(i % 2 == 0 ? i / 2 : n - 1 - i / 2);
  }
  const Tensor y = take(In(mixed, at), x.tensor.device().tensor({n}, order), -1);
  return axis_from_last(In(y, at), static_cast<std::uint32_t>(number));
}

}  // namespace

Tensor stft(In x, std::uint64_t n, const StftOptions& options) {
  return in_f32(x, [&](In wide) { return frames_transformed(wide, n, options); });
}
Tensor istft(In x, std::uint64_t n, std::uint64_t samples, const StftOptions& options) {
  return in_f32(x, [&](In wide) { return frames_joined(wide, n, samples, options); });
}
Tensor dct(In x, int axis, std::string_view norm) {
  return in_f32(x, [&](In wide) { return cosines(wide, axis, norm); });
}
Tensor idct(In x, int axis, std::string_view norm) {
  const graph::Called called("idct", x.where);
  return in_f32(x, [&](In wide) { return from_cosines(wide, axis, norm); });
}

}  // namespace weft
