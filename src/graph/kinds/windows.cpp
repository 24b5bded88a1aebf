#include "graph/kinds/windows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/attributes/windows.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/pool/pool.hpp"

namespace weft::graph::kinds {

bool countable(const Type& image) {
  return std::ranges::all_of(image.shape, [](std::uint64_t extent) {
    return extent <= std::numeric_limits<std::int32_t>::max();
  });
}

Result<Shape> window_counts(const Type& image, const Shape& kernel,
                            std::span<const ops::unfold::Axis> axes,
                            std::span<const std::uint64_t> high, const Shape& given) {
  if (!given.empty()) return given;
  Shape out;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ops::unfold::Axis& axis = axes[i];
    if (axis.stride == 0 || axis.dilation == 0 || kernel[i] == 0) {
      return fail(ErrorCode::invalid_argument,
                  "Windows need at least one element and steps of at least 1; dimension {} has {} "
                  "elements, stride {} and dilation {}.",
                  i + 2, kernel[i], axis.stride, axis.dilation);
    }
    const auto padded = static_cast<std::int64_t>(image.shape[i + 2]) + axis.pad +
                        static_cast<std::int64_t>(high[i]);
    const auto reach = static_cast<std::int64_t>((kernel[i] - 1) * axis.dilation + 1);
    if (padded < reach) {
      return fail(ErrorCode::invalid_argument,
                  "A window of {} elements does not fit dimension {} of {}, which has {} with its "
                  "padding.",
                  reach, i + 2, describe(image), padded);
    }
    out.push_back(static_cast<std::uint64_t>(padded - reach) / axis.stride + 1);
  }
  return out;
}

namespace {

using ops::pool::Function;

Status need_windows(const Signature& s, std::uint32_t rank, std::string_view what) {
  const auto& a = as<WindowAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  const std::size_t spatial = a.axes.size();
  if (is_float(x.dtype) && x.rank() == rank && spatial >= 1 && spatial <= 3 &&
      a.kernel.size() == spatial && a.high.size() == spatial && countable(x)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "{} needs floats with 1 to 3 spatial dimensions, and windows with as many; it was "
              "given {} and windows {}.",
              what, describe(x), ops::describe(a.kernel));
}

// pool: x → y, and what goes back: dy, x (for max) → dx

Result<std::vector<Type>> infer_pool(const Signature& s) {
  const auto& a = as<WindowAttributes>(s.attributes);
  const auto rank = static_cast<std::uint32_t>(a.axes.size() + 2);
  if (const Status ok = need_windows(s, rank, "A pool"); !ok) return std::unexpected(ok.error());
  const Type& x = s.inputs[0];
  auto counts = window_counts(x, a.kernel, a.axes, a.high, a.spatial);
  if (!counts) return std::unexpected(counts.error());
  counts->insert(counts->begin(), x.shape.begin(), x.shape.begin() + 2);
  return one(x.dtype, *counts);
}

Result<ops::Plan> lower_pool(const LowerArgs& l) {
  const auto& a = as<WindowAttributes>(l.attributes);
  return ops::pool::plan(ops::pool::Args{.function = a.function,
                                         .x = l.inputs[0],
                                         .y = l.outputs[0],
                                         .kernel = a.kernel,
                                         .axes = a.axes,
                                         .count_outside = a.count_outside,
                                         .propagates_nan = true},
                         l.caps);
}

Shape spatial_of(const Tensor& image) { return {image.shape().begin() + 2, image.shape().end()}; }

std::vector<Tensor> gradient_pool(const GradientArgs& g) {
  WindowAttributes a = as<WindowAttributes>(g.attributes);
  a.spatial = spatial_of(g.inputs[0]);
  const Tensor x = a.function == Function::max ? g.inputs[0] : Tensor();
  return {make(pool_back, a, {g.dy[0], x}, Where::current())};
}

Result<std::vector<Type>> infer_pool_back(const Signature& s) {
  const auto& a = as<WindowAttributes>(s.attributes);
  Shape shape(s.inputs[0].shape.begin(), s.inputs[0].shape.begin() + 2);
  shape.insert(shape.end(), a.spatial.begin(), a.spatial.end());
  return one(s.inputs[0].dtype, shape);
}

Result<ops::Plan> lower_pool_back(const LowerArgs& l) {
  const auto& a = as<WindowAttributes>(l.attributes);
  return ops::pool::plan(ops::pool::BackwardArgs{.function = a.function,
                                                 .dy = l.inputs[0],
                                                 .x = l.inputs[1],
                                                 .dx = l.outputs[0],
                                                 .kernel = a.kernel,
                                                 .axes = a.axes,
                                                 .count_outside = a.count_outside,
                                                 .propagates_nan = true},
                         l.caps);
}

/// The windows of an image as rows: [N, o…, C, elements of a window].
Tensor window_rows(const Tensor& image, const WindowAttributes& a) {
  const Tensor columns = make(unfold, a, {image}, Where::current());
  Shape rows = columns.shape();
  rows.resize(rows.size() - a.kernel.size());
  rows.push_back(product(a.kernel));
  return columns.reshape(rows);
}

/// What goes back through a pool is linear in dy: its derivative is a mean again, or of a maximum
/// the element of each window that was the first largest.
std::vector<Tensor> gradient_pool_back(const GradientArgs& g) {
  WindowAttributes a = as<WindowAttributes>(g.attributes);
  a.spatial = spatial_of(g.inputs[0]);
  if (a.function == Function::mean) return {make(pool, a, {g.dy[0]}, Where::current()), {}};
  const Tensor& x = g.inputs[1];
  const Tensor inside = window_rows(full_like(x, x.shape(), x.dtype(), 1), a);
  const Tensor lowest = full_like(x, {}, x.dtype(), -std::numeric_limits<float>::max());
  const Tensor rows = weft::where(inside, window_rows(x, a), lowest.broadcast_to(inside.shape()));
  constexpr int last = -1;
  const Tensor largest = weft::reduce("argmax", rows, {last}, true);
  Shape shape = largest.shape();
  shape.pop_back();
  const Tensor picked = weft::gather(window_rows(g.dy[0], a), largest, last).reshape(shape);
  std::vector<int> order(shape.size());  // channels before the windows again
  std::iota(order.begin() + 2, order.end(), 1);
  order[1] = -1;
  return {picked.permute(order), {}};
}

// unfold: image → [N, o…, C, k…], and fold: the sum of columns at each place of an image

Result<std::vector<Type>> infer_unfold(const Signature& s) {
  const auto& a = as<WindowAttributes>(s.attributes);
  const auto rank = static_cast<std::uint32_t>(a.axes.size() + 2);
  if (const Status ok = need_windows(s, rank, "unfold"); !ok) return std::unexpected(ok.error());
  const Type& x = s.inputs[0];
  auto shape = window_counts(x, a.kernel, a.axes, a.high, a.spatial);
  if (!shape) return std::unexpected(shape.error());
  shape->insert(shape->begin(), x.shape[0]);
  shape->push_back(x.shape[1]);
  shape->insert(shape->end(), a.kernel.begin(), a.kernel.end());
  return one(x.dtype, *shape);
}

Result<ops::Plan> lower_unfold(const LowerArgs& l) {
  return ops::unfold::plan(ops::unfold::UnfoldArgs{.image = l.inputs[0],
                                                   .columns = l.outputs[0],
                                                   .axes = as<WindowAttributes>(l.attributes).axes},
                           l.caps);
}

std::vector<Tensor> gradient_unfold(const GradientArgs& g) {
  WindowAttributes a = as<WindowAttributes>(g.attributes);
  a.spatial = spatial_of(g.inputs[0]);
  return {make(fold, a, {g.dy[0]}, Where::current())};
}

Result<std::vector<Type>> infer_fold(const Signature& s) {
  const auto& a = as<WindowAttributes>(s.attributes);
  const std::size_t spatial = a.axes.size();
  if (const Status ok = need_windows(s, static_cast<std::uint32_t>(2 * spatial + 2), "fold"); !ok)
    return std::unexpected(ok.error());
  const Type& columns = s.inputs[0];
  const bool kernels = std::equal(a.kernel.begin(), a.kernel.end(),
                                  columns.shape.end() - static_cast<std::ptrdiff_t>(spatial));
  if (!kernels || a.spatial.size() != spatial) {
    return fail(ErrorCode::invalid_argument,
                "fold needs columns [N, o..., C, k...] for windows {} and an image of {} spatial "
                "dimensions; it was given {} and {}.",
                ops::describe(a.kernel), spatial, describe(columns), ops::describe(a.spatial));
  }
  for (const ops::unfold::Axis& axis : a.axes) {
    if (axis.stride > 0 && axis.dilation > 0) continue;
    return fail(ErrorCode::invalid_argument,
                "fold takes strides and dilations of at least 1; they are {} and {}.", axis.stride,
                axis.dilation);
  }
  Shape shape{columns.shape[0], columns.shape[spatial + 1]};
  shape.insert(shape.end(), a.spatial.begin(), a.spatial.end());
  return one(columns.dtype, shape);
}

Result<ops::Plan> lower_fold(const LowerArgs& l) {
  return ops::unfold::plan(ops::unfold::FoldArgs{.columns = l.inputs[0],
                                                 .image = l.outputs[0],
                                                 .axes = as<WindowAttributes>(l.attributes).axes},
                           l.caps);
}

std::vector<Tensor> gradient_fold(const GradientArgs& g) {
  WindowAttributes a = as<WindowAttributes>(g.attributes);
  const Shape& columns = g.inputs[0].shape();
  a.spatial =
      Shape(columns.begin() + 1, columns.begin() + 1 + static_cast<std::ptrdiff_t>(a.axes.size()));
  return {make(unfold, a, {g.dy[0]}, Where::current())};
}

}  // namespace

const Rule pool{
    .name = "pool", .infer = infer_pool, .lower = lower_pool, .gradient = gradient_pool};
const Rule pool_back{.name = "pool_back",
                     .infer = infer_pool_back,
                     .lower = lower_pool_back,
                     .gradient = gradient_pool_back};
const Rule unfold{
    .name = "unfold", .infer = infer_unfold, .lower = lower_unfold, .gradient = gradient_unfold};
const Rule fold{
    .name = "fold", .infer = infer_fold, .lower = lower_fold, .gradient = gradient_fold};

}  // namespace weft::graph::kinds
