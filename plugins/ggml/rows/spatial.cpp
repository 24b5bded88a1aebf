// Ops on images and on places in a tensor: resizing, borders, triangles, windows, positions.
#include <array>

#include "ops/border/border.hpp"
#include "ops/resize/resize.hpp"
#include "ops/sinusoid/sinusoid.hpp"
#include "ops/triangle/triangle.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;

constexpr std::int64_t far = 1LL << 40;  // past every diagonal

Result<Plan> upscale(const Node& node, const Caps& caps) {
  const auto flags = static_cast<std::uint32_t>(node.param(0));
  ops::resize::Args args{.x = node.source(0), .y = node.dst};
  switch (flags & 0xff) {
    case GGML_SCALE_MODE_NEAREST: args.mode = ops::resize::Mode::nearest; break;
    case GGML_SCALE_MODE_BILINEAR: args.mode = ops::resize::Mode::linear; break;
    case GGML_SCALE_MODE_BICUBIC: args.mode = ops::resize::Mode::cubic; break;
    default:
      return fail(ErrorCode::unsupported, "Scale mode {} of ggml is not known here.", flags & 0xff);
  }
  args.align_corners = (flags & GGML_SCALE_FLAG_ALIGN_CORNERS) != 0;
  // ggml has the flag only for linear interpolation, and ignores it elsewhere.
  args.antialias =
      (flags & GGML_SCALE_FLAG_ANTIALIAS) != 0 && args.mode == ops::resize::Mode::linear;
  return plan(args, caps);
}

Result<Plan> pad_reflect_1d(const Node& node, const Caps& caps) {
  return plan(ops::border::Args{.x = node.source(0),
                                .y = node.dst,
                                .low = {0, 0, 0, node.param(0)},
                                .mode = ops::border::Mode::reflect},
              caps);
}

Result<Plan> roll(const Node& node, const Caps& caps) {
  return plan(ops::border::Args{.x = node.source(0),
                                .y = node.dst,
                                .low = {node.param(3), node.param(2), node.param(1), node.param(0)},
                                .mode = ops::border::Mode::circular},
              caps);
}

Result<Plan> tri(const Node& node, const Caps& caps) {
  ops::border::BandArgs args{.x = node.source(0), .y = node.dst, .low = -far, .high = far};
  switch (static_cast<ggml_tri_type>(node.param(0))) {
    case GGML_TRI_TYPE_LOWER: args.high = -1; break;
    case GGML_TRI_TYPE_LOWER_DIAG: args.high = 0; break;
    case GGML_TRI_TYPE_UPPER: args.low = 1; break;
    case GGML_TRI_TYPE_UPPER_DIAG: args.low = 0; break;
    default:
      return fail(ErrorCode::unsupported, "Triangle {} of ggml is not known here.", node.param(0));
  }
  return plan(args, caps);
}

Result<Plan> diag(const Node& node, const Caps& caps) {
  const auto x = node.source(0).broadcast_to(node.dst.extents());
  if (!x) return std::unexpected(x.error());
  return plan(ops::border::BandArgs{.x = *x, .y = node.dst}, caps);
}

Result<Plan> timestep_embedding(const Node& node, const Caps& caps) {
  return plan(ops::sinusoid::Args{.x = drop_front(node.source(0), 3),
                                  .y = drop_front(node.dst, 2),
                                  .period = static_cast<double>(node.param(1))},
              caps);
}

Result<Plan> solve_tri(const Node& node, const Caps& caps) {
  return plan(ops::triangle::Args{.a = node.source(0), .b = node.source(1), .x = node.dst}, caps);
}

/// Windows along one dimension: whole ones, and perhaps a last one that reaches past the end.
struct Span {
  std::uint64_t first = 0;  // window
  std::uint64_t count = 0;
  std::uint64_t size = 0;  // elements of each
};

std::vector<Span> spans(std::uint64_t extent, std::uint64_t window) {
  std::vector<Span> out;
  if (extent >= window) out.push_back({.count = extent / window, .size = window});
  if (extent % window != 0)
    out.push_back({.first = extent / window, .count = 1, .size = extent % window});
  return out;
}

/// Copies between an image [1, H, W, C] and its windows [windows, w, w, C].
Result<Plan> copy_windows(const View& image, const View& windows, bool to_windows,
                          const Caps& caps) {
  Plan plan;
  if (image.empty() || windows.empty()) return plan;
  const std::uint64_t w = windows.shape[1];
  const std::uint64_t across = (image.shape[2] + w - 1) / w;
  if (windows.shape[0] % across != 0 || windows.shape[2] != w) {
    return fail(ErrorCode::unsupported, "The windows {} are not those of the image {}.",
                describe(windows), describe(image));
  }
  const View grid = windows.split(0, across);
  if (to_windows) {
    auto zeros = map_to("fill", {}, windows, caps, {0.0});
    if (!zeros) return zeros;
    plan.append(std::move(*zeros));
  }
  const View plane = drop_front(image);
  for (const Span& down : spans(plane.shape[0], w)) {
    for (const Span& right : spans(plane.shape[1], w)) {
      const View part = plane.slice(0, down.first * w, down.count * down.size)
                            .slice(1, right.first * w, right.count * right.size)
                            .split(1, right.size)
                            .split(0, down.size)
                            .transpose(1, 2);
      const View place = grid.slice(0, down.first, down.count)
                             .slice(1, right.first, right.count)
                             .slice(2, 0, down.size)
                             .slice(3, 0, right.size);
      auto copied =
          to_windows ? map_to("copy", {part}, place, caps) : map_to("copy", {place}, part, caps);
      if (!copied) return copied;
      plan.append(std::move(*copied));
    }
  }
  return plan;
}

Result<Plan> win_part(const Node& node, const Caps& caps) {
  return copy_windows(node.source(0), node.dst, true, caps);
}

Result<Plan> win_unpart(const Node& node, const Caps& caps) {
  return copy_windows(node.dst, node.source(0), false, caps);
}

/// dst[q, k, c] = src[q + (w - 1 - k), c]: a copy for each k, because its places go backwards.
Result<Plan> get_rel_pos(const Node& node, const Caps& caps) {
  const View& y = node.dst;
  const View x = node.source(0);
  const std::uint64_t w = y.shape[2];
  if (x.shape[2] + 1 < w + y.shape[1]) {
    return fail(ErrorCode::unsupported, "Positions {} do not reach for {}.", describe(x),
                describe(y));
  }
  Plan plan;
  for (std::uint64_t k = 0; k < w; ++k) {
    auto part =
        map_to("copy", {x.slice(2, w - 1 - k, y.shape[1]).transpose(1, 2)}, y.slice(2, k, 1), caps);
    if (!part) return part;
    plan.append(std::move(*part));
  }
  return plan;
}

/// With everything dense and seen as [rows, k, k]: dst[r, i, j] = src0[r, i, j] + src2[r, i] +
/// src1[r, j].
Result<Plan> add_rel_pos(const Node& node, const Caps& caps) {
  const std::uint64_t k = node.source(1).shape[3];
  const std::uint64_t rows = k == 0 ? 0 : node.source(1).count() / k;
  bool dense = node.dst.count() == rows * k * k;
  for (const View* view : {&node.dst, &node.src[0], &node.src[1], &node.src[2]})
    dense = dense && view->is_dense();
  if (!dense) {
    return fail(ErrorCode::unsupported, "Relative positions {} do not fit {}.",
                describe(node.source(1)), describe(node.dst));
  }
  const std::array<std::uint64_t, 3> cube{rows, k, k};
  const View y = reshape_dense(node.dst, cube);
  const View x = reshape_dense(node.source(0), cube);
  const View across = reshape_dense(node.source(1), std::array{rows, std::uint64_t{1}, k});
  const View down = reshape_dense(node.source(2), std::array{rows, k, std::uint64_t{1}});
  auto plan = map_to("add", {x, down}, y, caps);
  if (!plan) return plan;
  auto second = map_to("add", {y, across}, y, caps);
  if (!second) return second;
  plan->append(std::move(*second));
  return plan;
}

constexpr std::array rows{
    Row{GGML_OP_UPSCALE, upscale},
    Row{GGML_OP_PAD_REFLECT_1D, pad_reflect_1d},
    Row{GGML_OP_ROLL, roll},
    Row{GGML_OP_TRI, tri},
    Row{GGML_OP_DIAG, diag},
    Row{GGML_OP_TIMESTEP_EMBEDDING, timestep_embedding},
    Row{GGML_OP_SOLVE_TRI, solve_tri},
    Row{GGML_OP_WIN_PART, win_part},
    Row{GGML_OP_WIN_UNPART, win_unpart},
    Row{GGML_OP_GET_REL_POS, get_rel_pos},
    Row{GGML_OP_ADD_REL_POS, add_rel_pos},
};

}  // namespace

std::span<const Row> spatial_rows() { return rows; }

}  // namespace weft::plugin
