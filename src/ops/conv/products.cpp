// Convolutions as matrix products.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/math.hpp"
#include "ops/conv/direct.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/map/map.hpp"
#include "ops/stages.hpp"

namespace weft::ops::conv {
namespace {

/// Unfolded windows take no more scratch than this at once, if a part can be that small.
constexpr std::uint64_t scratch_limit = 128ULL << 20;

/// `view` with dimensions from `first` on merged into one, if they lie evenly apart.
std::optional<View> flatten(const View& view, std::uint32_t first) {
  View out = view;
  out.rank = first + 1;
  out.shape[first] = 1;
  out.stride[first] = 1;
  for (std::uint32_t i = view.rank; i-- > first;) {
    if (view.shape[i] == 1) continue;
    if (out.shape[first] == 1) {
      out.stride[first] = view.stride[i];
    } else if (view.stride[i] != out.stride[first] * out.shape[first]) {
      return std::nullopt;
    }
    out.shape[first] *= view.shape[i];
  }
  return out;
}

std::uint64_t product(const View& view, std::uint32_t first) {
  std::uint64_t count = 1;
  for (std::uint32_t i = first; i < view.rank; ++i) count *= view.shape[i];
  return count;
}

/// The shape [a, b…, c…] where b and c are the dimensions of two views from their third on.
std::vector<std::uint64_t> shape_of(std::initializer_list<std::uint64_t> front, const View& b,
                                    const View& c) {
  std::vector<std::uint64_t> shape(front);
  for (std::uint32_t i = 2; i < b.rank; ++i) shape.push_back(b.shape[i]);
  for (std::uint32_t i = 2; i < c.rank; ++i) shape.push_back(c.shape[i]);
  return shape;
}

/// Puts a plan together.
struct Builder {
  const Caps& caps;
  Stages stages;

  View scratch(DType type, std::span<const std::uint64_t> shape) {
    return stages.scratch(type, shape);
  }
  Status add(Result<Plan> part) {
    if (!part) return std::unexpected(part.error());
    stages.add(std::move(part));
    return {};
  }
  Status copy(const View& from, const View& to) {
    return add(map::plan({.function = "copy", .inputs = {from}, .y = to}, caps));
  }
  /// `view` itself if its dimensions from `first` on can be one, else a dense copy of it.
  Result<View> flat(const View& view, std::uint32_t first) {
    if (const auto merged = flatten(view, first)) return *merged;
    const View dense = scratch(view.dtype, view.extents());
    if (const Status ok = copy(view, dense); !ok) return std::unexpected(ok.error());
    return flatten(dense, first).value_or(dense);  // A dense view always is one.
  }
  Status multiply(const View& a, const View& b, const View& c, bool allow_f16, float beta,
                  const View& bias = {}) {
    gemm::Args args{.a = a, .b = b, .c = c};
    args.beta = beta;
    args.allow_f16 = allow_f16;
    if (bias.given()) args.bias = bias.unsqueeze(1);
    return add(gemm::plan(args, caps));
  }
};

/// What a part of the work covers: images, and a range of one more dimension where single images
/// are too large.
struct Parts {
  std::uint64_t images = 1;
  std::uint64_t along = 1;
};

Parts parts_for(std::uint64_t images, std::uint64_t extent, std::uint64_t bytes_per_unit) {
  const std::uint64_t bytes = std::max<std::uint64_t>(1, extent * bytes_per_unit);
  if (bytes <= scratch_limit)
    return {.images = std::clamp<std::uint64_t>(scratch_limit / bytes, 1, images), .along = extent};
  return {.images = 1,
          .along = std::clamp<std::uint64_t>(scratch_limit / bytes_per_unit, 1, extent)};
}

/// Calls part(first image, images, first, count) for every part.
template <class Part>
Status for_each_part(const Parts& parts, std::uint64_t images, std::uint64_t extent, Part&& part) {
  for (std::uint64_t n = 0; n < images; n += parts.images) {
    for (std::uint64_t at = 0; at < extent; at += parts.along) {
      const Status ok =
          part(n, std::min(parts.images, images - n), at, std::min(parts.along, extent - at));
      if (!ok) return ok;
    }
  }
  return {};
}

/// Dense columns with windows innermost, [N, C, k…, o…] in memory, in the order that unfold names
/// dimensions.
View by_window(const View& dense, std::uint32_t spatial) {
  std::vector<std::uint32_t> order{0};
  for (std::uint32_t i = 0; i < spatial; ++i) order.push_back(2 + spatial + i);
  order.push_back(1);
  for (std::uint32_t i = 0; i < spatial; ++i) order.push_back(2 + i);
  return dense.permute(order);
}

bool is_pointwise(const Problem& problem) {
  bool same = true;
  for (std::uint32_t i = 0; i < problem.spatial(); ++i) {
    same = same && problem.w.shape[2 + i] == 1 && problem.axes[i].stride == 1 &&
           problem.axes[i].pad == 0 && problem.image.shape[2 + i] == problem.out.shape[2 + i];
  }
  return same;
}

DType columns_type(const Problem& problem) {
  const bool halves = problem.allow_f16 && problem.w.dtype == DType::f16;
  return halves ? DType::f16 : problem.image.dtype;
}

/// out [N, OC, windows] = w [OC, C·k] · columns [N, C·k, windows].
Status forward(Builder& builder, const Problem& problem) {
  const std::uint32_t spatial = problem.spatial();
  const DType type = columns_type(problem);
  const auto w = builder.flat(problem.w, 1);
  if (!w) return std::unexpected(w.error());
  const std::uint64_t k = w->shape[1];
  if (is_pointwise(problem) && type == problem.image.dtype) {
    const auto image = flatten(problem.image, 2);
    const auto out = flatten(problem.out, 2);
    if (image && out) return builder.multiply(*w, *image, *out, problem.allow_f16, 0, problem.bias);
  }
  std::uint32_t dim = 2;  // the outermost spatial dimension, along which large images are cut
  while (dim + 1 < problem.out.rank && problem.out.shape[dim] == 1) ++dim;
  const std::uint64_t extent = problem.out.shape[dim];
  const std::uint64_t images = problem.out.shape[0];
  const Parts parts = parts_for(images, extent, k * product(problem.out, dim + 1) * size_of(type));
  View most = problem.out.slice(dim, 0, parts.along);
  const View columns =
      builder.scratch(type, shape_of({parts.images, problem.image.shape[1]}, problem.w, most));
  return for_each_part(
      parts, images, extent,
      [&](std::uint64_t n, std::uint64_t count, std::uint64_t at, std::uint64_t rows) -> Status {
        const View out = problem.out.slice(0, n, count).slice(dim, at, rows);
        std::vector<Axis> axes = problem.axes;
        axes[dim - 2].pad -= static_cast<std::int64_t>(at * axes[dim - 2].stride);
        View here = View::dense(type, shape_of({count, problem.image.shape[1]}, problem.w, out),
                                columns.slot);
        Status ok =
            builder.add(unfold::plan(unfold::UnfoldArgs{.image = problem.image.slice(0, n, count),
                                                        .columns = by_window(here, spatial),
                                                        .axes = axes},
                                     builder.caps));
        if (!ok) return ok;
        const std::uint64_t windows = product(out, 2);
        here = View::dense(type, {count, k, windows}, columns.slot);
        if (const auto flat = flatten(out, 2))
          return builder.multiply(*w, here, *flat, problem.allow_f16, 0, problem.bias);
        const View dense = builder.scratch(out.dtype, out.extents());
        ok = builder.multiply(*w, here, *flatten(dense, 2), problem.allow_f16, 0, problem.bias);
        return ok ? builder.copy(dense, out) : ok;
      });
}

/// columns [N, C·k, windows] = wᵀ · out [N, OC, windows], folded into the image.
Status transposed(Builder& builder, const Problem& problem) {
  const std::uint32_t spatial = problem.spatial();
  const auto w = builder.flat(problem.w, 1);
  if (!w) return std::unexpected(w.error());
  const auto out = builder.flat(problem.out, 2);
  if (!out) return std::unexpected(out.error());
  const std::uint64_t images = problem.out.shape[0];
  const std::uint64_t channels = problem.image.shape[1];
  const std::uint64_t each = product(problem.w, 2);
  const std::uint64_t windows = out->shape[2];
  const Parts parts = parts_for(images, channels, each * windows * 4);
  const View columns =
      builder.scratch(DType::f32, shape_of({parts.images, parts.along}, problem.w, problem.out));
  // With a bias, the sums stay in f32 until it is added.
  const View image =
      problem.bias.given() ? builder.scratch(DType::f32, problem.image.extents()) : problem.image;
  const Status ok = for_each_part(
      parts, images, channels,
      [&](std::uint64_t n, std::uint64_t count, std::uint64_t at, std::uint64_t size) -> Status {
        const View rows = View::dense(DType::f32, {count, size * each, windows}, columns.slot);
        const View weights = w->slice(1, at * each, size * each).transpose(0, 1);
        const Status multiplied =
            builder.multiply(weights, out->slice(0, n, count), rows, problem.allow_f16, 0);
        if (!multiplied) return multiplied;
        const View dense =
            View::dense(DType::f32, shape_of({count, size}, problem.w, problem.out), columns.slot);
        return builder.add(
            unfold::plan(unfold::FoldArgs{.columns = by_window(dense, spatial),
                                          .image = image.slice(0, n, count).slice(1, at, size),
                                          .axes = problem.axes},
                         builder.caps));
      });
  if (!ok || !problem.bias.given()) return ok;
  View bias = problem.bias;
  for (std::uint32_t i = 0; i < spatial; ++i) bias = bias.unsqueeze(bias.rank);
  return builder.add(
      map::plan({.function = "add", .inputs = {image, bias}, .y = problem.image}, builder.caps));
}

/// dw [OC, C·k] = Σ out [OC, N·windows] · columns [N·windows, C·k].
Status weight(Builder& builder, const Problem& problem) {
  const std::uint32_t spatial = problem.spatial();
  const DType type = problem.image.dtype;
  const std::uint64_t images = problem.out.shape[0];
  const std::uint64_t channels = problem.image.shape[1];
  const std::uint64_t each = product(problem.w, 2);
  const std::uint64_t windows = product(problem.out, 2);
  // Gradients with the images next to their windows: [OC, N, o…].
  const View by_channel = problem.out.transpose(0, 1);
  const auto out = builder.flat(by_channel, 1);
  if (!out) return std::unexpected(out.error());
  const Parts parts = parts_for(images, channels, each * windows * size_of(type));
  const View columns =
      builder.scratch(type, shape_of({parts.along, parts.images}, problem.w, problem.out));
  auto w = flatten(problem.w, 1);
  const bool through_scratch = !w || (parts.images < images && problem.w.dtype != DType::f32);
  View dense{};
  if (through_scratch) {
    dense = builder.scratch(DType::f32, problem.w.extents());
    w = flatten(dense, 1);
  }
  const Status ok = for_each_part(
      parts, images, channels,
      [&](std::uint64_t n, std::uint64_t count, std::uint64_t at, std::uint64_t size) -> Status {
        // In memory [C, k…, N, o…].
        std::vector<std::uint64_t> shape{size};
        for (std::uint32_t i = 0; i < spatial; ++i) shape.push_back(problem.w.shape[2 + i]);
        shape.push_back(count);
        for (std::uint32_t i = 0; i < spatial; ++i) shape.push_back(problem.out.shape[2 + i]);
        const View stored = View::dense(type, shape, columns.slot);
        std::vector<std::uint32_t> order{1 + spatial};
        for (std::uint32_t i = 0; i < spatial; ++i) order.push_back(2 + spatial + i);
        for (std::uint32_t i = 0; i <= spatial; ++i) order.push_back(i);
        const Status unfolded = builder.add(unfold::plan(
            unfold::UnfoldArgs{.image = problem.image.slice(0, n, count).slice(1, at, size),
                               .columns = stored.permute(order),
                               .axes = problem.axes},
            builder.caps));
        if (!unfolded) return unfolded;
        const View right =
            View::dense(type, {size * each, count * windows}, columns.slot).transpose(0, 1);
        return builder.multiply(out->slice(1, n * windows, count * windows), right,
                                w->slice(1, at * each, size * each), problem.allow_f16,
                                n > 0 ? 1.0F : 0.0F);
      });
  if (!ok || !through_scratch) return ok;
  return builder.copy(dense, problem.w);
}

}  // namespace

Result<Plan> plan_gemm(const Problem& problem, Mode mode, const Caps& caps) {
  Builder builder{.caps = caps,
                  .stages = Stages({problem.image, problem.w, problem.out, problem.bias})};
  for (std::uint64_t group = 0; group < problem.groups; ++group) {
    const Problem one = problem.part(group, 1, mode == Mode::forward);
    const Status ok = mode == Mode::forward      ? forward(builder, one)
                      : mode == Mode::transposed ? transposed(builder, one)
                                                 : weight(builder, one);
    if (!ok) return std::unexpected(ok.error());
  }
  return std::move(builder.stages).finish();
}

}  // namespace weft::ops::conv
