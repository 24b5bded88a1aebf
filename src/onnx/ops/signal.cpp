#include <algorithm>
#include <cmath>
#include <numbers>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// Real numbers […, 1] as complex ones […, 2] of f32.
Tensor complex_of(const Tensor& x) {
  Tensor wide = as(x, DType::f32);
  if (last_of(x.shape()) == 2) return wide;
  const Shape low(x.shape().size(), 0);
  Shape high = low;
  high.back() = 1;
  return pad(wide, low, high);
}

/// An axis cut to, or filled with zeros up to, an extent.
Tensor of_length(const Tensor& x, std::size_t axis, U length) {
  const U there = x.shape().at(axis);
  if (there >= length) return there == length ? x : x.slice(static_cast<int>(axis), 0, length);
  const Shape low(x.shape().size(), 0);
  Shape high = low;
  high[axis] = length - there;
  return pad(x, low, high);
}

Values dft(Call& c) {
  const Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  if (rank < 2 || last_of(x.shape()) == 0 || last_of(x.shape()) > 2)
    c.wrong(formatted("{} has no complex numbers.", describe(c.in(0))));
  const I named = c.opset >= 20 ? (c.has(2) ? c.scalar_int(2) : -2) : c.i("axis", 1);
  const std::size_t axis = axis_of(c, named, rank);
  if (axis + 1 == rank) c.wrong("The axis is that of real and imaginary parts.");
  const bool inverse = c.i("inverse", 0) != 0;
  const bool onesided = c.i("onesided", 0) != 0;
  const U there = x.shape().at(axis);
  const U length = c.has(1) ? shape_from(c, {c.scalar_int(1)})[0]
                            : (inverse && onesided ? 2 * (std::max<U>(there, 1) - 1) : there);
  const int at = static_cast<int>(axis);
  if (inverse && onesided) {
    const Tensor half = of_length(complex_of(x), axis, length / 2 + 1);
    return {as(unsqueeze(irfft(half, length, at), -1), x.dtype())};
  }
  const Tensor whole = of_length(complex_of(x), axis, length);
  Tensor y = inverse ? ifft(whole, at) : fft(whole, at);
  if (onesided) y = y.slice(at, 0, length / 2 + 1);
  return {as(y, x.dtype())};
}

Values stft(Call& c) {
  Tensor x = c.t(0);  // [batch, length, 1 or 2]; PyTorch writes [batch, length] for real numbers
  if (x.shape().size() == 2) x = unsqueeze(x, -1);
  if (x.shape().size() != 3) c.wrong(formatted("{} is not a batch of signals.", describe(c.in(0))));
  const I step = c.scalar_int(1);
  const I size = c.has(3) ? c.scalar_int(3) : c.has(2) ? static_cast<I>(c.in(2).size()) : 0;
  const auto length = static_cast<I>(x.shape().at(1));
  if (step <= 0 || size <= 0 || size > length)
    c.wrong(
        formatted("Frames of {} by steps of {} do not fit in {}.", size, step, describe(c.in(0))));
  const auto frames = static_cast<U>((length - size) / step + 1);
  if (frames > (U{1} << 28) / static_cast<U>(size)) {
    c.refuse(formatted("{} frames of {} are too many.", frames, size));
  }
  std::vector<std::int32_t> at;
  for (U f = 0; f < frames; ++f) {
    for (I i = 0; i < size; ++i)
      at.push_back(static_cast<std::int32_t>(static_cast<I>(f) * step + i));
  }
  const auto n = static_cast<U>(size);
  Tensor parts =
      take(complex_of(x), c.device().tensor({frames, n}, at), 1);  // [batch, frames, n, 2]
  if (c.has(2)) parts = parts * as(c.t(2), DType::f32).reshape({1, 1, n, 1});
  Tensor y = fft(parts, 2);
  if (c.i("onesided", 1) != 0) y = y.slice(2, 0, n / 2 + 1);
  return {as(y, x.dtype())};
}

/// a - b cos(2πi/n) + d cos(4πi/n).
Values window(Call& c, double a, double b, double d) {
  const I size = c.scalar_int(0);
  if (size < 0 || size > I{1} << 24) c.wrong(formatted("A window of {} is none.", size));
  const double n = static_cast<double>(size) - (c.i("periodic", 1) != 0 ? 0 : 1);
  std::vector<double> out;
  for (I i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / n;
    out.push_back(a - b * std::cos(angle) + d * std::cos(2 * angle));
  }
  return {array_of(c.type("output_datatype", Type::f32), {out.size()}, out)};
}

Values mel_weights(Call& c) {
  const I bins = c.scalar_int(0);
  const I length = c.scalar_int(1);
  const auto rate = static_cast<double>(c.scalar_int(2));
  if (bins <= 0 || length <= 0 || rate <= 0 || bins > 1 << 16 || length > 1 << 24)
    c.wrong(formatted("{} bins of {} at {} are none.", bins, length, rate));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(c.scalar(3));
  const double step = (mel(c.scalar(4)) - low) / static_cast<double>(bins + 2);
  const I rows = length / 2 + 1;
  if (rows > (I{1} << 26) / bins) c.wrong(formatted("{} bins of {} are too many.", bins, rows));
  std::vector<I> edges;
  for (I i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double edge = std::floor(static_cast<double>(length + 1) * hertz / rate);
    if (!(std::fabs(edge) < 1e15)) c.wrong(formatted("The edge of bin {} is at {}.", i, edge));
    edges.push_back(static_cast<I>(edge));
  }
  std::vector<double> out(static_cast<std::size_t>(rows * bins));
  const auto set = [&](I row, I bin, double value) {
    if (row >= 0 && row < rows) out[static_cast<std::size_t>(row * bins + bin)] = value;
  };
  for (I i = 0; i < bins; ++i) {
    const I lower = edges[static_cast<std::size_t>(i)];
    const I center = edges[static_cast<std::size_t>(i) + 1];
    const I higher = edges[static_cast<std::size_t>(i) + 2];
    if (center == lower)
      set(center, i, 1);
    else
      for (I j = std::max<I>(lower, 0); j <= std::min(center, rows - 1); ++j)
        set(j, i, static_cast<double>(j - lower) / static_cast<double>(center - lower));
    for (I j = std::max<I>(center, 0); j < std::min(higher, rows); ++j)
      set(j, i, static_cast<double>(higher - j) / static_cast<double>(higher - center));
  }
  return {array_of(c.type("output_datatype", Type::f32),
                   {static_cast<U>(rows), static_cast<U>(bins)}, out)};
}

}  // namespace

void add_signal(Table& table) {
  table["DFT"] = dft;
  table["STFT"] = stft;
  table["HannWindow"] = +[](Call& c) { return window(c, 0.5, 0.5, 0); };
  table["HammingWindow"] = +[](Call& c) { return window(c, 25.0 / 46, 21.0 / 46, 0); };
  table["BlackmanWindow"] = +[](Call& c) { return window(c, 0.42, 0.5, 0.08); };
  table["MelWeightMatrix"] = mel_weights;
}

}  // namespace weft::onnx
