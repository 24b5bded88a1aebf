#include <algorithm>
#include <cmath>
#include <numeric>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/image.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// How the axes of an image are stretched.
struct Stretch {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double outside = 0;  ///< What lies outside, of tf_crop_and_resize.
};

/// One axis: from `in` elements to `out`.
struct Axis {
  U in = 0;
  U out = 0;
  double scale = 1;
  double start = 0;  ///< Of the region, for tf_crop_and_resize.
  double end = 1;
};

double place(const Stretch& s, const Axis& a, double x) {
  const auto in = static_cast<double>(a.in);
  const auto out = static_cast<double>(a.out);
  if (s.coordinates == "align_corners") {
    // A length that is not whole counts as it is where the image shrinks, as in the tests of the
    // standard, and as the whole one where it grows: PyTorch's models and ONNX Runtime mean that.
    const double length = a.scale < 1 ? in * a.scale : out;
    return length == 1 || a.out == 1 ? 0 : x * (in - 1) / (length - 1);
  }
  if (s.coordinates == "asymmetric") return x / a.scale;
  if (s.coordinates == "pytorch_half_pixel") return a.out == 1 ? 0 : (x + 0.5) / a.scale - 0.5;
  if (s.coordinates == "tf_crop_and_resize") {
    if (a.out == 1) return 0.5 * (a.start + a.end) * (in - 1);
    return a.start * (in - 1) + x * (a.end - a.start) * (in - 1) / (out - 1);
  }
  if (s.coordinates == "half_pixel_symmetric") {
    const double adjustment = out / (in * a.scale);
    return in / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  return (x + 0.5) / a.scale - 0.5;
}

double rounded(const std::string& how, double x) {
  if (how == "floor") return std::floor(x);
  if (how == "ceil") return std::ceil(x);
  if (how == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

double cubic_weight(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// For each element of the result, which elements count and how much.
struct Taps {
  std::vector<std::vector<std::int32_t>> at;  ///< By the number of the tap.
  std::vector<std::vector<float>> weight;
};

Taps taps_of(const Stretch& s, const Axis& a) {
  Taps out;
  const auto last = static_cast<I>(a.in) - 1;
  const bool outside_counts = s.coordinates == "tf_crop_and_resize";
  const double shrink = s.antialias ? std::min(a.scale, 1.0) : 1;
  const double reach = s.mode == "cubic" ? 2 : 1;
  const I first = s.mode == "nearest" ? 0 : static_cast<I>(std::floor(-reach / shrink)) + 1;
  const I count = s.mode == "nearest" ? 1 : 2 - 2 * first;
  out.at.assign(static_cast<std::size_t>(count), std::vector<std::int32_t>(a.out));
  out.weight.assign(static_cast<std::size_t>(count), std::vector<float>(a.out));
  for (U i = 0; i < a.out; ++i) {
    double x = place(s, a, static_cast<double>(i));
    if (!(std::fabs(x) < 1e9)) x = std::signbit(x) ? -1e9 : 1e9;
    if (s.mode == "nearest") {
      out.at[0][i] =
          static_cast<std::int32_t>(std::clamp<I>(static_cast<I>(rounded(s.nearest, x)), 0, last));
      out.weight[0][i] = 1;
      if (outside_counts && (x < 0 || x > static_cast<double>(last)))
        out.weight[0][i] = std::nanf("");
      continue;
    }
    const double base = std::floor(x);
    double sum = 0;
    std::vector<double> weights;
    for (I k = 0; k < count; ++k) {
      const double distance = (static_cast<double>(first + k) - (x - base)) * shrink;
      double weight = s.mode == "cubic" ? cubic_weight(distance, s.cubic)
                                        : std::clamp(1 - std::fabs(distance), 0.0, 1.0);
      const I at = static_cast<I>(base) + first + k;
      if (s.exclude_outside && (at < 0 || at > last)) weight = 0;
      weights.push_back(weight);
      sum += weight;
      out.at[static_cast<std::size_t>(k)][i] =
          static_cast<std::int32_t>(std::clamp<I>(at, 0, last));
    }
    const bool normalize = s.exclude_outside || s.antialias;
    for (I k = 0; k < count; ++k) {
      double weight = normalize && sum != 0 ? weights[static_cast<std::size_t>(k)] / sum
                                            : weights[static_cast<std::size_t>(k)];
      if (outside_counts && (x < 0 || x > static_cast<double>(last))) weight = std::nan("");
      out.weight[static_cast<std::size_t>(k)][i] = static_cast<float>(weight);
    }
  }
  return out;
}

Tensor along_axis(const Call& c, const Stretch& s, const Axis& a, const Tensor& x,
                  std::size_t axis) {
  Taps taps = taps_of(s, a);
  // Places outside of the image are marked by NaN: they get a value of their own.
  std::vector<std::uint8_t> inside(a.out, 1);
  bool all_inside = true;
  for (auto& row : taps.weight) {
    for (U i = 0; i < a.out; ++i) {
      if (!std::isnan(row[i])) continue;
      row[i] = 0;
      inside[i] = 0;
      all_inside = false;
    }
  }
  Shape along(x.shape().size(), 1);
  along[axis] = a.out;
  Tensor out;
  for (std::size_t k = 0; k < taps.at.size(); ++k) {
    if (std::ranges::all_of(taps.weight[k], [](float w) { return w == 0; })) continue;
    const Tensor part = take(x, c.device().tensor({a.out}, taps.at[k]), static_cast<int>(axis));
    const bool whole = std::ranges::all_of(taps.weight[k], [](float w) { return w == 1; });
    const Tensor weighted = whole ? part : part * c.device().tensor(along, taps.weight[k]);
    out = out ? out + weighted : weighted;
  }
  if (!out) out = take(x, c.device().tensor({a.out}, taps.at[0]), static_cast<int>(axis)) * 0.0;
  if (!all_inside) out = where(c.device().tensor(along, inside), out, full_like(out, s.outside));
  return out;
}

/// What the engine's own resize does: images whose height and width change by whole ratios of their
/// extents.
std::optional<Tensor> by_engine(const Stretch& s, const std::vector<Axis>& axes, const Tensor& x) {
  if (axes.size() != 4 || axes[0].in != axes[0].out || axes[1].in != axes[1].out || s.antialias ||
      s.exclude_outside || !is_float(x.dtype()))
    return std::nullopt;
  for (const Axis& a : axes) {
    if (std::fabs(a.scale * static_cast<double>(a.in) - static_cast<double>(a.out)) >
        1e-6 * static_cast<double>(a.out))
      return std::nullopt;
  }
  const bool up = axes[2].out % axes[2].in == 0 && axes[3].out % axes[3].in == 0;
  if (s.mode == "nearest" && up && s.coordinates == "asymmetric" && s.nearest == "floor")
    return resize(x, axes[2].out, axes[3].out, {.mode = Interpolation::nearest});
  if (s.mode == "linear" && s.coordinates == "half_pixel")
    return resize(x, axes[2].out, axes[3].out, {.mode = Interpolation::linear});
  if (s.mode == "linear" && s.coordinates == "align_corners" && axes[2].out > 1 && axes[3].out > 1)
    return resize(x, axes[2].out, axes[3].out,
                  {.mode = Interpolation::linear, .align_corners = true});
  return std::nullopt;
}

Values stretched(Call& c, const Stretch& s, const std::vector<Axis>& axes) {
  const Tensor x = c.t(0);
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic")
    c.refuse(formatted("Mode '{}' is not known.", s.mode));
  for (const Axis& a : axes) {
    if (a.in == 0 && a.out != 0)
      c.wrong(formatted("{} has no elements to stretch.", describe(c.in(0))));
    if (a.out > U{1} << 26) c.wrong(formatted("An extent of {} is too large.", a.out));
  }
  Shape shape;
  for (const Axis& a : axes) shape.push_back(a.out);
  if (count_of(shape) == 0) return {zeros(c.device(), shape, x.dtype())};
  if (auto done = by_engine(s, axes, x)) return {*done};
  Tensor y = x;
  const bool exact = s.mode == "nearest" && s.coordinates != "tf_crop_and_resize";
  if (!exact) y = as(y, DType::f32);
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const Axis& a = axes[d];
    const bool same = a.in == a.out && a.scale == 1 && s.coordinates != "tf_crop_and_resize";
    if (!same) y = along_axis(c, s, a, y, d);
  }
  if (!is_float(x.dtype()) && !exact) y = round(y);
  return {as(y, x.dtype())};
}

std::vector<double> scales_of(const Call& c, std::size_t input) {
  return c.has(input) ? c.host(input).doubles() : c.fs("scales");
}

Values resize_op(Call& c) {
  const Shape& shape = c.shape(0);
  std::vector<I> every(shape.size());
  std::iota(every.begin(), every.end(), 0);
  const auto which = axes_of(c, c.is("axes", every), shape.size());
  Stretch s{.mode = c.s("mode", "nearest"),
            .coordinates =
                c.opset < 11 ? "asymmetric" : c.s("coordinate_transformation_mode", "half_pixel"),
            .nearest = c.opset < 11 ? "floor" : c.s("nearest_mode", "round_prefer_floor"),
            .cubic = c.f("cubic_coeff_a", -0.75),
            .exclude_outside = c.i("exclude_outside", 0) != 0,
            .antialias = c.i("antialias", 0) != 0,
            .outside = c.f("extrapolation_value", 0)};
  std::vector<Axis> axes;
  for (const U extent : shape) axes.push_back({extent, extent, 1, 0, 1});
  const std::size_t scale_input = c.opset < 11 ? 1 : 2;
  const auto scales = c.has(scale_input) && c.in(scale_input).size() != 0
                          ? scales_of(c, scale_input)
                          : std::vector<double>();
  if (!scales.empty()) {
    if (scales.size() != which.size())
      c.wrong(formatted("There are {} scales for {} axes.", scales.size(), which.size()));
    for (std::size_t k = 0; k < which.size(); ++k) {
      Axis& a = axes[which[k]];
      if (!(scales[k] > 0) || scales[k] > 1e6) c.wrong(formatted("A scale is {}.", scales[k]));
      a.scale = scales[k];
      a.out = static_cast<U>(std::floor(static_cast<double>(a.in) * a.scale));
    }
  } else {
    if (!c.has(3)) c.wrong("There are neither scales nor sizes.");
    const Shape sizes = shape_from(c, c.ints(3));
    if (sizes.size() != which.size())
      c.wrong(formatted("There are {} sizes for {} axes.", sizes.size(), which.size()));
    const std::string policy = c.s("keep_aspect_ratio_policy", "stretch");
    std::vector<double> ratios;
    for (std::size_t k = 0; k < which.size(); ++k) {
      if (shape[which[k]] == 0 && sizes[k] != 0)
        c.wrong(formatted("{} has no elements to stretch.", describe(c.in(0))));
      ratios.push_back(shape[which[k]] == 0
                           ? 1
                           : static_cast<double>(sizes[k]) / static_cast<double>(shape[which[k]]));
    }
    const double common = ratios.empty()            ? 1
                          : policy == "not_smaller" ? std::ranges::max(ratios)
                                                    : std::ranges::min(ratios);
    for (std::size_t k = 0; k < which.size(); ++k) {
      Axis& a = axes[which[k]];
      a.scale = policy == "stretch" ? ratios[k] : common;
      a.out = policy == "stretch"
                  ? sizes[k]
                  : static_cast<U>(std::floor(static_cast<double>(a.in) * common + 0.5));
    }
  }
  if (s.coordinates == "tf_crop_and_resize" && c.has(1)) {
    const auto region = c.host(1).doubles();
    if (region.size() != 2 * which.size())
      c.wrong(formatted("The region has {} numbers for {} axes.", region.size(), which.size()));
    for (std::size_t k = 0; k < which.size(); ++k) {
      axes[which[k]].start = region[k];
      axes[which[k]].end = region[k + which.size()];
    }
  }
  return stretched(c, s, axes);
}

Values upsample(Call& c) {
  const Shape& shape = c.shape(0);
  std::vector<double> scales = c.opset < 9 ? c.fs("scales") : scales_of(c, 1);
  if (c.opset < 7 && scales.empty()) scales = {1, 1, c.f("height_scale", 1), c.f("width_scale", 1)};
  if (scales.size() != shape.size())
    c.wrong(formatted("There are {} scales for {}.", scales.size(), describe(c.in(0))));
  const std::string mode = c.s("mode", "nearest");
  Stretch s{.mode = mode == "bilinear" ? "linear" : mode,
            .coordinates = "asymmetric",
            .nearest = "floor"};
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!(scales[d] > 0) || scales[d] > 1e6) c.wrong(formatted("A scale is {}.", scales[d]));
    axes.push_back({shape[d], static_cast<U>(std::floor(static_cast<double>(shape[d]) * scales[d])),
                    scales[d], 0, 1});
  }
  return stretched(c, s, axes);
}

}  // namespace

void add_resize(Table& table) {
  table["Resize"] = resize_op;
  table["Upsample"] = upsample;
}

}  // namespace weft::onnx
