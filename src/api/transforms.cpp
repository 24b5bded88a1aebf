#include "weft/transforms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "api/spectra.hpp"
#include "api/wide.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "weft/device.hpp"
#include "weft/shape.hpp"

namespace weft {
double norm_factor(std::string_view function, std::string_view norm, double n, bool inverse,
                   const Where& at) {
  const double all = n == 0 ? 1 : n;
  if (norm == "ortho") return 1 / std::sqrt(all);
  if (norm == (inverse ? "backward" : "forward")) return 1 / all;
  if (norm == "backward" || norm == "forward") return 1;
  refuse(function, at,
         formatted("{} has the norms \"backward\", \"ortho\" and \"forward\"; it was given \"{}\".",
                   function, norm));
}

std::vector<int> transform_axes(std::string_view function, In x, const Dims& axes, bool complex) {
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

namespace {

Tensor scaled(const Tensor& x, double factor, const Where& at) {
  return factor == 1 ? x : In(x, at) * factor;
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
  const std::vector<int> numbers = transform_axes(function, given, axes, true);
  const double n = count_along(given.tensor, numbers);
  const double factor = norm_factor(function, norm, n, inverse, given.where);
  return in_f32(given, [&](In x) {
    // ifft() has divided by n already.
    return scaled(through(x, numbers, inverse), inverse ? factor * n : factor, x.where);
  });
}

Tensor of_real(std::string_view function, In given, const Dims& axes, std::string_view norm) {
  const graph::Called called(function, given.where);
  std::vector<int> numbers = transform_axes(function, given, axes, false);
  const double factor =
      norm_factor(function, norm, count_along(given.tensor, numbers), false, given.where);
  const int last = numbers.back();
  numbers.pop_back();
  return in_f32(given, [&](In x) {
    return scaled(through(In(rfft(x, last), x.where), numbers, false), factor, x.where);
  });
}

Tensor to_real(std::string_view function, In given, std::uint64_t n, const Dims& axes,
               std::string_view norm) {
  const graph::Called called(function, given.where);
  std::vector<int> numbers = transform_axes(function, given, axes, true);
  const int last = numbers.back();
  numbers.pop_back();
  const double count = count_along(given.tensor, numbers) * static_cast<double>(n);
  const double factor = norm_factor(function, norm, count, true, given.where);
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
  Frames frames{options.hop == 0 ? std::max<std::uint64_t>(n / 4, 1) : options.hop,
                options.center ? n / 2 : 0, options.window};
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
  (void)transform_axes("stft", x, {-1}, false);
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
  const double factor = norm_factor("stft", options.norm, static_cast<double>(n), false, at);
  const Tensor y = rfft(In(map("mul", {cut, frames.window}, {}, at), at));
  return scaled(swapaxes(In(y, at), -3, -2), factor, at);
}

Tensor frames_joined(In x, std::uint64_t n, std::uint64_t samples, const StftOptions& options) {
  (void)transform_axes("istft", x, {-1}, true);
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
  const double factor = norm_factor("istft", options.norm, all, true, at) * all;
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

}  // namespace

Tensor stft(In x, std::uint64_t n, const StftOptions& options) {
  return in_f32(x, [&](In wide) { return frames_transformed(wide, n, options); });
}
Tensor istft(In x, std::uint64_t n, std::uint64_t samples, const StftOptions& options) {
  return in_f32(x, [&](In wide) { return frames_joined(wide, n, samples, options); });
}

}  // namespace weft
