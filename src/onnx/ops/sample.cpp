#include <algorithm>
#include <cmath>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/windows.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/image.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Elements of images at places that are computed: between neighbours.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// A whole number, such as a quotient that was meant to be rounded, as a real one.
double real(auto whole) { return static_cast<double>(whole); }

Tensor limited(const Tensor& x, double low, double high) { return clamp(x, low, high); }

/// Places mirrored at `low` and `high` until they lie between them.
Tensor mirrored(const Tensor& x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return zeros_like(x);
  const Tensor way = abs(x - low);
  const Tensor rest = way - floor(way / (2 * span)) * (2 * span);
  return low + span - abs(rest - span);
}

struct Sampler {
  Tensor image;            ///< [N, C, S] of f32.
  std::vector<U> extents;  ///< Of the spatial dimensions, whose product is S.
  std::string padding = "zeros";
  bool align_corners = false;

  /// Whole places (f32 tensors [N, P], one for each dimension) → [N, C, P]; zeros outside, where
  /// that is the padding.
  [[nodiscard]] Tensor at(const std::vector<Tensor>& places) const {
    Tensor number;
    Tensor inside;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const auto last = static_cast<double>(extents[d]) - 1;
      Tensor p = places[d];
      if (padding == "reflection")
        p = align_corners ? mirrored(p, 0, last)
                          : limited(round(mirrored(p, -0.5, last + 0.5)), 0, last);
      if (padding == "zeros") {
        const Tensor here =
            logical_and(greater_equal(p, zeros_like(p)), less_equal(p, full_like(p, last)));
        inside = inside ? logical_and(inside, here) : here;
      }
      const Tensor whole = limited(p, 0, last).to(DType::i32);
      number = number ? number * static_cast<double>(extents[d]) + whole : whole;
    }
    const Tensor found = take_along(image, unsqueeze(number, 1), 2);
    return inside ? where(unsqueeze(inside, 1), found, zeros_like(found)) : found;
  }

  /// Between neighbours, all of whose products of weights count.
  [[nodiscard]] Tensor linear(const std::vector<Tensor>& places) const {
    std::vector<Tensor> low;
    for (const Tensor& p : places) low.push_back(floor(p));
    Tensor sum;
    for (U corner = 0; corner < (U{1} << places.size()); ++corner) {
      std::vector<Tensor> at_corner;
      Tensor weight;
      for (std::size_t d = 0; d < places.size(); ++d) {
        const bool up = (corner >> d & 1) != 0;
        const Tensor part = up ? places[d] - low[d] : (low[d] + 1) - places[d];
        weight = weight ? weight * part : part;
        at_corner.push_back(up ? low[d] + 1 : low[d]);
      }
      const Tensor term = at(at_corner) * unsqueeze(weight, 1);
      sum = sum ? sum + term : term;
    }
    return sum;
  }

  /// By cubic polynomials along two dimensions.
  [[nodiscard]] Tensor cubic(const std::vector<Tensor>& places) const {
    constexpr double a = -0.75;
    const auto weights =
        [&](const Tensor& t) {  // of the elements at -1, 0, 1 and 2 from the one below
          const auto near = [&](const Tensor& x) { return ((x * (a + 2)) - (a + 3)) * x * x + 1; };
          const auto far = [&](const Tensor& x) {
            return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a;
          };
          return std::vector<Tensor>{far(t + 1), near(t), near(1 - t), far(2 - t)};
        };
    std::vector<Tensor> low;
    std::vector<std::vector<Tensor>> weight;
    for (const Tensor& p : places) {
      low.push_back(floor(p));
      weight.push_back(weights(p - low.back()));
    }
    Tensor sum;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        const Tensor term =
            at({low[0] + (i - 1), low[1] + (j - 1)}) *
            unsqueeze(
                weight[0][static_cast<std::size_t>(i)] * weight[1][static_cast<std::size_t>(j)], 1);
        sum = sum ? sum + term : term;
      }
    }
    return sum;
  }
};

Sampler sampler_of(const Tensor& x) {
  Sampler out;
  out.extents.assign(x.shape().begin() + 2, x.shape().end());
  out.image = as(x, DType::f32).reshape({x.shape().at(0), x.shape().at(1), count_of(out.extents)});
  return out;
}

Values grid_sample(Call& c) {
  const Tensor x = c.t(0);
  const Tensor grid = as(c.t(1), DType::f32);
  const std::size_t rank = x.shape().size() - 2;
  if (x.shape().size() < 3 || grid.shape().size() != rank + 2 || last_of(grid.shape()) != rank)
    c.wrong(formatted("{} and {} do not belong together.", describe(c.in(0)), describe(c.in(1))));
  Sampler sampler = sampler_of(x);
  sampler.padding = c.s("padding_mode", "zeros");
  sampler.align_corners = c.i("align_corners", 0) != 0;
  const Shape out(grid.shape().begin() + 1, grid.shape().end() - 1);
  const U count = count_of(out);
  std::vector<Tensor> places;
  for (std::size_t d = 0; d < rank;
       ++d) {  // the last number of the grid is that of the first dimension
    const Tensor g =
        grid.slice(-1, static_cast<I>(rank - 1 - d), 1).reshape({x.shape().at(0), count});
    const auto extent = static_cast<double>(sampler.extents[d]);
    Tensor p = sampler.align_corners ? (g + 1) * ((extent - 1) / 2) : ((g + 1) * extent - 1) / 2;
    places.push_back(p);
  }
  const std::string mode = c.s("mode", "linear");
  const bool cubic = mode == "cubic" || mode == "bicubic";
  if (!cubic) {
    for (std::size_t d = 0; d < rank; ++d) {
      const auto last = static_cast<double>(sampler.extents[d]) - 1;
      if (sampler.padding == "border") places[d] = limited(places[d], 0, last);
      if (sampler.padding == "reflection")
        places[d] = limited(sampler.align_corners ? mirrored(places[d], 0, last)
                                                  : mirrored(places[d], -0.5, last + 0.5),
                            0, last);
    }
    if (sampler.padding == "reflection") sampler.padding = "border";
  }
  Tensor y;
  if (mode == "nearest") {
    for (Tensor& p : places) p = round(p);
    y = sampler.at(places);
  } else if (cubic) {
    if (rank != 2) c.refuse(formatted("Cubic sampling of {} dimensions is not done.", rank));
    y = sampler.cubic(places);
  } else {
    y = sampler.linear(places);
  }
  Shape shape{x.shape().at(0), x.shape().at(1)};
  shape.insert(shape.end(), out.begin(), out.end());
  return {as(y.reshape(shape), x.dtype())};
}

Values affine_grid(Call& c) {
  const Tensor theta = c.t(0);
  const Shape size = shape_from(c, c.ints(1));
  const bool align = c.i("align_corners", 0) != 0;
  if (size.size() < 4 || theta.shape().size() != 3)
    c.wrong(formatted("{} is no transformation of {}.", describe(c.in(0)), text_of(size)));
  const Shape out(size.begin() + 2, size.end());
  const std::size_t rank = out.size();
  if (count_of(out) > U{1} << 26) c.wrong(formatted("A grid of {} is too large.", text_of(out)));
  std::vector<float> base;  // places with a 1 behind them, the last dimension first
  Shape at(rank, 0);
  const auto coordinate = [align](U i, U n) {
    if (align) return n == 1 ? 0.0 : -1 + 2 * static_cast<double>(i) / static_cast<double>(n - 1);
    return (2 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
  };
  for (U i = 0; i < count_of(out); ++i) {
    for (std::size_t d = rank; d-- > 0;)
      base.push_back(static_cast<float>(coordinate(at[d], out[d])));
    base.push_back(1);
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < out[d]) break;
      at[d] = 0;
    }
  }
  const Tensor places = c.device().tensor({1, count_of(out), rank + 1}, base);
  Shape shape{size[0]};
  shape.insert(shape.end(), out.begin(), out.end());
  shape.push_back(rank);
  return {as(matmul(places, as(theta, DType::f32).transpose()).reshape(shape), theta.dtype())};
}

/// Regions of images, each as a grid of means (or maxima) of places inside of its cells.
Values roi_align(Call& c) {
  const Tensor x = c.t(0);
  if (x.shape().size() != 4 || c.shape(1).size() != 2 || c.shape(1).at(1) != 4)
    c.wrong(formatted("{} and {} do not belong together.", describe(c.in(0)), describe(c.in(1))));
  const auto regions = c.host(1).doubles();
  const auto batches = c.ints(2);
  constexpr I most = 1 << 12;
  const I rows = c.i("output_height", 1);
  const I columns = c.i("output_width", 1);
  const I ratio = c.i("sampling_ratio", 0);
  if (rows < 1 || columns < 1 || rows > most || columns > most || ratio > most)
    c.wrong(formatted("{} x {} cells with {} samples are none.", rows, columns, ratio));
  if (x.size() == 0) c.wrong(formatted("{} has no elements.", describe(c.in(0))));
  const auto height = static_cast<U>(rows);
  const auto width = static_cast<U>(columns);
  const double scale = c.f("spatial_scale", 1);
  const bool half = c.s("coordinate_transformation_mode",
                        c.opset < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const bool largest = c.s("mode", "avg") == "max";
  const auto last_y = static_cast<double>(x.shape().at(2)) - 1;
  const auto last_x = static_cast<double>(x.shape().at(3)) - 1;
  const U channels = x.shape().at(1);
  const U plane = x.shape().at(2) * x.shape().at(3);
  if (x.shape().at(0) * plane > U{1} << 31)
    c.refuse(formatted("{} is too large.", describe(c.in(0))));
  const Tensor flat =
      as(x, DType::f32).permute({1, 0, 2, 3}).reshape({channels, x.shape().at(0) * plane});
  std::vector<Tensor> results;
  // As many regions at once as have as many samples and fit into some memory.
  std::vector<std::vector<std::int32_t>> at(4);
  std::vector<std::vector<float>> weight(4);
  U together = 0;
  U each = 0;  // samples of a cell
  const auto flush = [&] {
    if (together == 0) return;
    Tensor samples;
    for (std::size_t k = 0; k < 4; ++k) {
      const Tensor part = take(flat, c.device().tensor({at[k].size()}, at[k]), 1) *
                          c.device().tensor({1, weight[k].size()}, weight[k]);
      samples = samples ? (largest ? maximum(samples, part) : samples + part) : part;
      at[k].clear();
      weight[k].clear();
    }
    const Tensor cells = samples.reshape({channels, together * height * width, each});
    const Tensor one = largest ? max(cells, {2}) : mean(cells, {2});
    results.push_back(one.reshape({channels, together, height, width}).permute({1, 0, 2, 3}));
    together = 0;
  };
  for (U r = 0; r < c.shape(1).at(0); ++r) {
    const double offset = half ? 0.5 : 0;
    const double x1 = regions[r * 4] * scale - offset;
    const double y1 = regions[r * 4 + 1] * scale - offset;
    double roi_w = regions[r * 4 + 2] * scale - offset - x1;
    double roi_h = regions[r * 4 + 3] * scale - offset - y1;
    if (!half) roi_w = std::max(roi_w, 1.0), roi_h = std::max(roi_h, 1.0);
    if (!(std::fabs(x1) + std::fabs(y1) + std::fabs(roi_w) + std::fabs(roi_h) < 1e6)) {
      c.wrong(formatted("Region {} has corners that are no places.", r));
    }
    const double cell_h = roi_h / static_cast<double>(height);
    const double cell_w = roi_w / static_cast<double>(width);
    const auto ny =
        static_cast<U>(ratio > 0 ? ratio : std::max<I>(1, static_cast<I>(std::ceil(cell_h))));
    const auto nx =
        static_cast<U>(ratio > 0 ? ratio : std::max<I>(1, static_cast<I>(std::ceil(cell_w))));
    if (ny > U{1} << 24 || nx > U{1} << 24 || ny * nx > (U{1} << 24) / (height * width))
      c.wrong(formatted("Region {} is too large.", r));
    if (batches.at(r) < 0 || static_cast<U>(batches[r]) >= x.shape().at(0))
      c.wrong(formatted("There is no image {}.", batches[r]));
    constexpr U most_at_once = U{1} << 24;
    const U more = height * width * ny * nx;
    if (together > 0 && (each != ny * nx || (at[0].size() + more) * channels > most_at_once))
      flush();
    each = ny * nx;
    ++together;
    const double image = static_cast<double>(batches[r]) * static_cast<double>(plane);
    for (U cell = 0; cell < height * width; ++cell) {
      for (U sample = 0; sample < ny * nx; ++sample) {
        double y = y1 + real(cell / width) * cell_h +
                   (real(sample / nx) + 0.5) * cell_h / static_cast<double>(ny);
        double z = x1 + static_cast<double>(cell % width) * cell_w +
                   (static_cast<double>(sample % nx) + 0.5) * cell_w / static_cast<double>(nx);
        const bool outside = y < -1 || y > last_y + 1 || z < -1 || z > last_x + 1;
        y = std::clamp(y, 0.0, last_y);
        z = std::clamp(z, 0.0, last_x);
        for (std::size_t k = 0; k < 4; ++k) {
          const double ky = std::floor(y) + real(k / 2);
          const double kx = std::floor(z) + static_cast<double>(k % 2);
          const double w = (1 - std::fabs(y - ky)) * (1 - std::fabs(z - kx));
          at[k].push_back(static_cast<std::int32_t>(image + std::min(ky, last_y) * (last_x + 1) +
                                                    std::min(kx, last_x)));
          weight[k].push_back(outside ? 0 : static_cast<float>(w));
        }
      }
    }
  }
  flush();
  if (results.empty()) return {zeros(c.device(), {0, x.shape().at(1), height, width}, x.dtype())};
  return {as(results.size() == 1 ? results[0] : concat(results, 0), x.dtype())};
}

/// A convolution whose windows' elements are moved by offsets.
Values deform_conv(Call& c) {
  const Tensor x = c.t(0);
  const Tensor w = c.t(1);
  const Shape& s = x.shape();
  if (s.size() != 4 || w.shape().size() != 4)
    c.refuse(
        formatted("{} and {} are not images with weights.", describe(c.in(0)), describe(c.in(1))));
  const Grid grid = grid_of(c, s, {w.shape().at(2), w.shape().at(3)});
  const auto groups = static_cast<U>(c.i("group", 1));
  const auto moved = static_cast<U>(c.i("offset_group", 1));
  if (groups == 0 || moved == 0 || s[1] % moved != 0 || s[1] % groups != 0 ||
      w.shape().at(0) % groups != 0)
    c.wrong(formatted("{} has no {} groups and {} groups of offsets.", describe(c.in(0)), groups,
                      moved));
  const U window = grid.kernel[0] * grid.kernel[1];
  const U area = grid.out[0] * grid.out[1];
  if (c.shape(2) != Shape{s[0], moved * window * 2, grid.out[0], grid.out[1]})
    c.wrong(formatted("Offsets {} do not fit.", describe(c.in(2))));
  const Tensor offsets = as(c.t(2), DType::f32).reshape({s[0], moved, window, 2, area});
  std::vector<float> base_y;
  std::vector<float> base_x;
  for (U k = 0; k < window; ++k) {
    for (U o = 0; o < area; ++o) {
      base_y.push_back(static_cast<float>(
          real(o / grid.out[1] * grid.stride[0] + k / grid.kernel[1] * grid.dilation[0]) -
          static_cast<double>(grid.low[0])));
      base_x.push_back(
          static_cast<float>(static_cast<double>(o % grid.out[1] * grid.stride[1] +
                                                 k % grid.kernel[1] * grid.dilation[1]) -
                             static_cast<double>(grid.low[1])));
    }
  }
  const Tensor start_y = c.device().tensor({1, window, area}, base_y);
  const Tensor start_x = c.device().tensor({1, window, area}, base_x);
  std::vector<Tensor> parts;
  const U each = s[1] / moved;
  for (U g = 0; g < moved; ++g) {
    const Tensor own = offsets.slice(1, static_cast<I>(g), 1).reshape({s[0], window, 2, area});
    const auto along = [&](I which, const Tensor& start) {
      return (own.slice(2, which, 1).reshape({s[0], window, area}) + start)
          .reshape({s[0], window * area});
    };
    const Sampler sampler = sampler_of(x.slice(1, static_cast<I>(g * each), each));
    Tensor found =
        sampler.linear({along(0, start_y), along(1, start_x)}).reshape({s[0], each, window, area});
    if (c.has(4))
      found = found * as(c.t(4), DType::f32)
                          .reshape({s[0], moved, 1, window, area})
                          .slice(1, static_cast<I>(g), 1)
                          .reshape({s[0], 1, window, area});
    parts.push_back(found);
  }
  const Tensor columns =
      parts.size() == 1 ? parts.front() : concat(parts, 1);  // [N, C, window, area]
  const U out = w.shape().at(0);
  const Tensor by_group = columns.reshape({s[0], groups, s[1] / groups * window, area});
  const Tensor weights =
      as(w, DType::f32).reshape({1, groups, out / groups, s[1] / groups * window});
  Tensor y = matmul(weights, by_group).reshape({s[0], out, grid.out[0], grid.out[1]});
  if (c.has(3)) y = y + as(c.t(3), DType::f32).reshape({1, out, 1, 1});
  return {as(y, x.dtype())};
}

}  // namespace

void add_sample(Table& table) {
  table["GridSample"] = grid_sample;
  table["AffineGrid"] = affine_grid;
  table["RoiAlign"] = roi_align;
  table["DeformConv"] = deform_conv;
}

}  // namespace weft::onnx
