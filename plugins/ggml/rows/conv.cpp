// Convolutions, pools and what they are made of. ggml counts spatial dimensions from the innermost,
// so parameters for width come before those for height; axes here are in the order of views.
#include "ops/conv/conv.hpp"

#include <array>

#include "ops/pool/pool.hpp"
#include "ops/unfold/unfold.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;
using ops::unfold::Axis;
using Axes = std::vector<Axis>;

/// A stride or dilation. Negative ones come out as 0, which ops refuse.
std::uint64_t positive(std::int32_t value) {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

/// Axes of `spatial` dimensions from parameters s0 s1 … p0 p1 … d0 d1 …, innermost dimension first.
Axes axes_of(const Node& node, std::uint32_t spatial) {
  Axes axes(spatial);
  for (std::uint32_t i = 0; i < spatial; ++i) {
    axes[spatial - 1 - i] = {.stride = positive(node.param(i)),
                             .pad = node.param(spatial + i),
                             .dilation = positive(node.param(2 * spatial + i))};
  }
  return axes;
}

/// The last dimension of a view split into channels and the kernel's extents.
View split_columns(View columns, const View& kernel, std::uint32_t spatial) {
  for (std::uint32_t i = 0; i < spatial; ++i) {
    std::uint64_t inner = 1;
    for (std::uint32_t k = i; k < spatial; ++k) inner *= kernel.shape[kernel.rank - spatial + k];
    columns = columns.split(columns.rank - 1, inner);
  }
  return columns;
}

/// Splits dimension 0 into (rest, inner), which must divide it.
Result<View> split_first(const View& view, std::int32_t inner) {
  if (inner <= 0 || view.shape[0] % static_cast<std::uint64_t>(inner) != 0) {
    return fail(ErrorCode::unsupported, "Dimension 0 of {} is no multiple of {}.", describe(view),
                inner);
  }
  return view.split(0, static_cast<std::uint64_t>(inner));
}

/// ggml's im2col has six parameters also for one dimension, of which those of the height say
/// nothing then.
Axes im2col_axes(const Node& node) {
  Axes axes = axes_of(node, 2);
  if (node.param(6) != 1) axes.erase(axes.begin());
  return axes;
}

Result<Plan> im2col(const Node& node, const Caps& caps) {
  const bool is_2d = node.param(6) == 1;
  const View image = is_2d ? node.source(1) : drop_front(node.source(1));
  const View columns = is_2d ? node.dst : drop_front(node.dst);
  return plan(
      ops::unfold::UnfoldArgs{.image = image,
                              .columns = split_columns(columns, node.source(0), is_2d ? 2 : 1),
                              .axes = im2col_axes(node)},
      caps);
}

Result<Plan> im2col_back(const Node& node, const Caps& caps) {
  const bool is_2d = node.param(6) == 1;
  const View image = is_2d ? node.dst : drop_front(node.dst);
  const View columns = is_2d ? node.source(0) : drop_front(node.source(0));
  return plan(
      ops::unfold::FoldArgs{.columns = split_columns(columns, node.source(1), is_2d ? 2 : 1),
                            .image = image,
                            .axes = im2col_axes(node)},
      caps);
}

Result<Plan> im2col_3d(const Node& node, const Caps& caps) {
  if (node.dst.empty()) return Plan{};  // fewer channels than one image has
  const auto image = split_first(node.source(1), node.param(9));
  if (!image) return std::unexpected(image.error());
  const std::uint64_t images = image->shape[0];
  const auto columns = split_first(
      node.dst, static_cast<std::int32_t>(node.dst.shape[0] / std::max<std::uint64_t>(images, 1)));
  if (!columns) return std::unexpected(columns.error());
  return plan(ops::unfold::UnfoldArgs{.image = *image,
                                      .columns = split_columns(*columns, node.source(0), 3),
                                      .axes = axes_of(node, 3)},
              caps);
}

Result<Plan> col2im_1d(const Node& node, const Caps& caps) {
  const std::uint64_t channels = positive(node.param(1));
  const View rows = drop_front(node.source(0));
  if (channels == 0 || rows.shape[2] % channels != 0) {
    return fail(ErrorCode::unsupported, "Columns {} do not have {} channels.", describe(rows),
                channels);
  }
  return plan(
      ops::unfold::FoldArgs{.columns = rows.split(2, rows.shape[2] / channels),
                            .image = drop_front(node.dst),
                            .axes = {{.stride = positive(node.param(0)), .pad = node.param(2)}}},
      caps);
}

Result<Plan> convolve(const View& x, const View& w, const View& y, Axes axes, std::uint64_t groups,
                      const Caps& caps) {
  // ggml itself rounds the image to f16 where the weights are.
  return plan(ops::conv::Args{.x = x,
                              .w = w,
                              .y = y,
                              .axes = std::move(axes),
                              .groups = groups,
                              .allow_f16 = w.dtype == DType::f16},
              caps);
}

Result<Plan> conv_2d(const Node& node, const Caps& caps) {
  return convolve(node.source(1), node.source(0), node.dst, axes_of(node, 2), 1, caps);
}

Result<Plan> conv_2d_dw(const Node& node, const Caps& caps) {
  return convolve(node.source(1), node.source(0), node.dst, axes_of(node, 2),
                  node.source(1).shape[1], caps);
}

Result<Plan> conv_3d(const Node& node, const Caps& caps) {
  const auto x = split_first(node.source(1), node.param(9));
  const auto w = split_first(node.source(0), node.param(9));
  const auto y = split_first(node.dst, node.param(11));
  for (const auto* view : {&x, &w, &y}) {
    if (!*view) return std::unexpected(view->error());
  }
  return convolve(*x, *w, *y, axes_of(node, 3), 1, caps);
}

Result<Plan> conv_transpose_1d(const Node& node, const Caps& caps) {
  return plan(ops::conv::TransposedArgs{.x = drop_front(node.source(1)),
                                        .w = drop_front(node.source(0)),
                                        .y = drop_front(node.dst),
                                        .axes = axes_of(node, 1)},
              caps);
}

Result<Plan> conv_transpose_2d(const Node& node, const Caps& caps) {
  const Axis axis{.stride = positive(node.param(0))};
  return plan(
      ops::conv::TransposedArgs{
          .x = node.source(1), .w = node.source(0), .y = node.dst, .axes = {axis, axis}},
      caps);
}

ops::pool::Function function_of(std::int32_t op) {
  return op == GGML_OP_POOL_MAX ? ops::pool::Function::max : ops::pool::Function::mean;
}

Result<Plan> pool_1d(const Node& node, const Caps& caps) {
  return plan(
      ops::pool::Args{.function = function_of(node.param(0)),
                      .x = node.source(0),
                      .y = node.dst,
                      .kernel = {1, positive(node.param(1))},
                      .axes = {{}, {.stride = positive(node.param(2)), .pad = node.param(3)}}},
      caps);
}

/// Kernel and axes of a pool in two dimensions; its mean divides by the size of the kernel.
std::vector<std::uint64_t> pool_kernel(const Node& node) {
  return {positive(node.param(2)), positive(node.param(1))};
}
Axes pool_axes(const Node& node) {
  return {{.stride = positive(node.param(4)), .pad = node.param(6)},
          {.stride = positive(node.param(3)), .pad = node.param(5)}};
}

Result<Plan> pool_2d(const Node& node, const Caps& caps) {
  return plan(ops::pool::Args{.function = function_of(node.param(0)),
                              .x = node.source(0),
                              .y = node.dst,
                              .kernel = pool_kernel(node),
                              .axes = pool_axes(node),
                              .count_outside = true},
              caps);
}

Result<Plan> pool_2d_back(const Node& node, const Caps& caps) {
  return plan(ops::pool::BackwardArgs{.function = function_of(node.param(0)),
                                      .dy = node.source(0),
                                      .x = node.source(1),
                                      .dx = node.dst,
                                      .kernel = pool_kernel(node),
                                      .axes = pool_axes(node),
                                      .count_outside = true},
              caps);
}

constexpr std::array rows{
    Row{GGML_OP_IM2COL, im2col},
    Row{GGML_OP_IM2COL_BACK, im2col_back},
    Row{GGML_OP_IM2COL_3D, im2col_3d},
    Row{GGML_OP_COL2IM_1D, col2im_1d},
    Row{GGML_OP_CONV_2D, conv_2d},
    Row{GGML_OP_CONV_2D_DW, conv_2d_dw},
    Row{GGML_OP_CONV_3D, conv_3d},
    Row{GGML_OP_CONV_TRANSPOSE_1D, conv_transpose_1d},
    Row{GGML_OP_CONV_TRANSPOSE_2D, conv_transpose_2d},
    Row{GGML_OP_POOL_1D, pool_1d},
    Row{GGML_OP_POOL_2D, pool_2d},
    Row{GGML_OP_POOL_2D_BACK, pool_2d_back},
};

}  // namespace

std::span<const Row> conv_rows() { return rows; }

}  // namespace weft::plugin
