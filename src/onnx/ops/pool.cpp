#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/host.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/windows.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/image.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using U = std::uint64_t;

Grid pool_grid(const Call& c) {
  const auto kernel = c.is("kernel_shape");
  if (kernel.empty()) c.wrong("kernel_shape is missing.");
  return grid_of(c, c.shape(0), counts(c, "kernel_shape", kernel.size(), 1));
}

/// The image with everything that windows reach.
Tensor widened(const Tensor& x, const Grid& grid, double value, bool pads = true,
               bool more = true) {
  Shape low(2, 0);
  Shape high(2, 0);
  for (std::size_t d = 0; d < grid.kernel.size(); ++d) {
    low.push_back(pads ? grid.low[d] : 0);
    high.push_back((pads ? grid.high[d] : 0) + (more ? grid.more[d] : 0));
  }
  if (std::ranges::all_of(low, [](U n) { return n == 0; }) &&
      std::ranges::all_of(high, [](U n) { return n == 0; }))
    return x;
  return pad(x, low, high, value);
}

Windows steps(const Grid& grid) {
  return {.stride = grid.stride, .pad = {}, .pad_high = {}, .dilation = grid.dilation};
}

/// The windows of an image that was widened: what of its last elements no window reaches is cut off
/// by the number of windows.
Tensor fitted(const Tensor& pooled, const Grid& grid) {
  Tensor out = pooled;
  for (std::size_t d = 0; d < grid.out.size(); ++d) {
    if (out.shape().at(d + 2) > grid.out[d])
      out = out.slice(static_cast<int>(d + 2), 0, grid.out[d]);
  }
  return out;
}

/// Which element of the image is the largest of each window, as ONNX numbers them.
Tensor largest_places(const Call& c, const Tensor& wide, const Grid& grid) {
  const Shape& image = c.shape(0);
  const std::size_t rank = grid.kernel.size();
  const Tensor windows = unfold(wide, grid.kernel, steps(grid));  // [N, o…, C, k…]
  Shape flat(windows.shape().begin(),
             windows.shape().begin() + static_cast<std::ptrdiff_t>(rank + 2));
  U size = 1;
  for (const U k : grid.kernel) size *= k;
  flat.push_back(size);
  Tensor best = argmax(windows.reshape(flat), {-1});  // [N, o…, C]
  best = movedim(best, static_cast<int>(rank) + 1, 1);
  const Shape& out = best.shape();  // [N, C, o…]
  const bool columns_first = c.i("storage_order", 0) == 1;
  std::vector<U> step(rank, 1);
  if (columns_first) {
    for (std::size_t d = 1; d < rank; ++d) step[d] = step[d - 1] * image[d + 1];
  } else {
    for (std::size_t d = rank; d-- > 1;) step[d - 1] = step[d] * image[d + 2];
  }
  Tensor place = zeros(c.device(), {1}, DType::i32);
  U inner = size;
  for (std::size_t d = 0; d < rank; ++d) {
    inner /= grid.kernel[d];
    const Tensor k = remainder(floor_divide(best, full_like(best, static_cast<double>(inner))),
                               full_like(best, static_cast<double>(grid.kernel[d])));
    Shape along(out.size(), 1);
    along[d + 2] = out[d + 2];
    const Tensor start = c.device()
                             .arange(out[d + 2], -static_cast<double>(grid.low[d]),
                                     static_cast<double>(grid.stride[d]), DType::i32)
                             .reshape(along);
    place =
        place + (k * static_cast<double>(grid.dilation[d]) + start) * static_cast<double>(step[d]);
  }
  U area = 1;
  for (std::size_t d = 0; d < rank; ++d) area *= image[d + 2];
  Shape by_channel(out.size(), 1);
  by_channel[0] = out[0];
  by_channel[1] = out[1];
  const Tensor channel = c.device()
                             .arange(out[0] * out[1], 0, static_cast<double>(area), DType::i32)
                             .reshape(by_channel);
  return fitted(place + channel, grid).to(DType::i64);
}

Values max_pool_op(Call& c) {
  const Grid grid = pool_grid(c);
  const Tensor given = c.t(0);
  const Tensor x = is_float(given.dtype()) ? given : given.to(DType::f32);
  const Tensor wide = widened(
      x, grid, x.dtype() == DType::f16 ? -65504.0 : -std::numeric_limits<double>::infinity());
  const Tensor y = as(fitted(max_pool(wide, grid.kernel, steps(grid)), grid), given.dtype());
  if (!c.wants(1)) return {y};
  return {y, largest_places(c, wide, grid)};
}

/// Sums of windows.
Tensor window_sums(const Tensor& wide, const Grid& grid) {
  double size = 1;
  for (const U k : grid.kernel) size *= static_cast<double>(k);
  return fitted(avg_pool(wide, grid.kernel, steps(grid)), grid) * size;
}

Values average_pool(Call& c) {
  const Grid grid = pool_grid(c);
  const Tensor x = c.t(0);
  const bool include = c.i("count_include_pad", 0) != 0;
  // How many elements of each window count: all of the image, and the pads where they are included.
  Shape ones_shape = x.shape();
  ones_shape[0] = ones_shape[1] = 1;
  const Tensor ones = full(c.device(), ones_shape, 1);
  const Tensor counted = include
                             ? widened(widened(ones, grid, 1, true, false), grid, 0, false, true)
                             : widened(ones, grid, 0);
  const Tensor sums = window_sums(widened(as(x, DType::f32), grid, 0), grid);
  return {as(sums / window_sums(counted, grid), x.dtype())};
}

Values lp_pool(Call& c) {
  const Grid grid = pool_grid(c);
  const Tensor x = c.t(0);
  const double p = c.attribute("p") != nullptr ? static_cast<double>(c.i("p", 2)) : 2;
  const Tensor powers = p == 2   ? square(as(x, DType::f32))
                        : p == 1 ? abs(as(x, DType::f32))
                                 : pow(abs(as(x, DType::f32)), c.device().full({}, p));
  const Tensor sums = window_sums(widened(powers, grid, 0), grid);
  return {as(p == 2   ? sqrt(sums)
             : p == 1 ? sums
                      : pow(sums, c.device().full({}, 1 / p)),
             x.dtype())};
}

std::vector<int> spatial(const Call& c) {
  std::vector<int> out;
  for (std::size_t d = 2; d < c.shape(0).size(); ++d) out.push_back(static_cast<int>(d));
  if (out.empty()) c.wrong(formatted("{} has no spatial dimensions.", describe(c.in(0))));
  return out;
}

Values global_lp_pool(Call& c) {
  const Tensor x = c.t(0);
  const auto p = static_cast<double>(c.i("p", 2));
  const Tensor sums =
      sum(p == 2 ? square(as(x, DType::f32)) : pow(abs(as(x, DType::f32)), c.device().full({}, p)),
          spatial(c), true);
  return {as(p == 2 ? sqrt(sums) : pow(sums, c.device().full({}, 1 / p)), x.dtype())};
}

Values max_unpool(Call& c) {
  const Tensor x = c.t(0);
  const std::size_t rank = c.is("kernel_shape").size();
  const auto kernel = counts(c, "kernel_shape", rank, 1);
  const auto stride = counts(c, "strides", rank, 1);
  const auto pads = counts(c, "pads", 2 * rank, 0);
  if (x.shape().size() != rank + 2)
    c.wrong(formatted("{} has no {} spatial dimensions.", describe(c.in(0)), rank));
  Shape small{x.shape().at(0), x.shape().at(1)};
  for (std::size_t d = 0; d < rank; ++d)
    small.push_back((x.shape().at(d + 2) - 1) * stride[d] + kernel[d] - pads[d] - pads[d + rank]);
  const Shape shape = c.has(2) ? shape_from(c, c.ints(2)) : small;
  if (shape.size() != rank + 2)
    c.wrong(formatted("The shape {} is not that of an image.", text_of(shape)));
  // Indices count the elements of the image that was pooled; a larger result keeps its places.
  const Tensor flat = zeros(c.device(), {count_of(small), 1}, DType::f32).to(x.dtype());
  Tensor y = index_copy(flat, c.t(1).to(DType::i32).reshape({x.size()}), x.reshape({x.size(), 1}))
                 .reshape(small);
  if (shape != small) {
    Shape more;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] < small[d])
        c.wrong(formatted("A result of {} has no room for {}.", text_of(shape), text_of(small)));
      more.push_back(shape[d] - small[d]);
    }
    y = pad(y, Shape(shape.size(), 0), more);
  }
  return {y};
}

/// The largest element of each cell of regions [image, left, top, right, bottom]; 0 for cells
/// without any. On the host: it is of before RoiAlign.
Values max_roi_pool(Call& c) {
  const Shape& s = c.shape(0);
  const Shape& regions = c.shape(1);
  const auto cells = c.is("pooled_shape");
  constexpr std::int64_t most = 1 << 12;
  if (s.size() != 4 || regions.size() != 2 || regions[1] != 5 || cells.size() != 2 ||
      cells[0] < 1 || cells[1] < 1 || cells[0] > most || cells[1] > most)
    c.wrong(formatted("{} and {} do not belong together.", describe(c.in(0)), describe(c.in(1))));
  const Shape shape{regions[0], s[1], static_cast<U>(cells[0]), static_cast<U>(cells[1])};
  if (too_large(shape)) c.refuse(formatted("{} is too large for the host.", text_of(shape)));
  const auto at = c.host(1).doubles();
  const auto x = c.host(0).doubles();
  const double scale = c.f("spatial_scale", 1);
  std::vector<double> out;
  /// The rows or columns of cell i of `count` cells between two places.
  const auto span_of = [&](double first, double last, U i, U count, U extent) {
    const double begin = std::round(first * scale);
    const double each =
        std::max(std::round(last * scale) - begin + 1, 1.0) / static_cast<double>(count);
    const auto edge = [&](double place) {
      return static_cast<U>(std::clamp(begin + place, 0.0, static_cast<double>(extent)));
    };
    return std::pair(edge(std::floor(static_cast<double>(i) * each)),
                     edge(std::ceil(static_cast<double>(i + 1) * each)));
  };
  for (U r = 0; r < regions[0]; ++r) {
    const double* region = at.data() + r * 5;
    if (!(region[0] >= 0 && region[0] < static_cast<double>(s[0])))
      c.wrong(formatted("There is no image {}.", region[0]));
    if (!(std::fabs(region[1]) + std::fabs(region[2]) + std::fabs(region[3]) +
              std::fabs(region[4]) <
          1e9))
      c.wrong(formatted("Region {} has corners that are no places.", r));
    for (U channel = 0; channel < s[1]; ++channel) {
      const double* plane = x.data() + (static_cast<U>(region[0]) * s[1] + channel) * s[2] * s[3];
      for (U cell = 0; cell < shape[2] * shape[3]; ++cell) {
        const auto [top, bottom] = span_of(region[2], region[4], cell / shape[3], shape[2], s[2]);
        const auto [left, right] = span_of(region[1], region[3], cell % shape[3], shape[3], s[3]);
        double best = top < bottom && left < right ? plane[top * s[3] + left] : 0;
        for (U row = top; row < bottom; ++row)
          for (U column = left; column < right; ++column)
            best = std::max(best, plane[row * s[3] + column]);
        out.push_back(best);
      }
    }
  }
  return {array_of(c.in(0).type(), shape, out)};
}

}  // namespace

void add_pool(Table& table) {
  table["MaxRoiPool"] = max_roi_pool;
  table["MaxPool"] = max_pool_op;
  table["AveragePool"] = average_pool;
  table["LpPool"] = lp_pool;
  table["GlobalAveragePool"] =
      +[](Call& c) { return Values{as(mean(c.t(0), spatial(c), true), c.t(0).dtype())}; };
  table["GlobalMaxPool"] = +[](Call& c) { return Values{max(c.t(0), spatial(c), true)}; };
  table["GlobalLpPool"] = global_lp_pool;
  table["MaxUnpool"] = max_unpool;
}

}  // namespace weft::onnx
