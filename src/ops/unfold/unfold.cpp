#include "ops/unfold/unfold.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/unfold/windows.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::unfold {
namespace {

constexpr std::uint32_t each = 8;  // as in unfold.wgsl

struct Variant {
  std::string_view inner = "element";
  std::uint32_t chunk = 1;
};

struct Params {
  std::uint32_t total = 0;
  std::uint32_t inner_chunks = 0;
  std::uint32_t outer = 0;
  std::uint32_t channels = 0;
  std::array<std::int32_t, 3> size{};  // of the image
  std::array<std::uint32_t, 3> out{};
  std::array<std::uint32_t, 3> kernel{};
  std::array<std::int32_t, 3> stride{};
  std::array<std::int32_t, 3> pad{};
  std::array<std::int32_t, 3> dilation{};
  std::array<std::uint32_t, 2> batch{};  // steps in the image along n and c
  std::array<std::int32_t, 3> step{};    // and along its spatial dimensions
  std::array<std::uint32_t, 8> columns{};
};

Params params_of(const Windows& windows) {
  Params params;
  for (std::uint32_t i = 0; i < 3; ++i) {
    params.size[i] = static_cast<std::int32_t>(windows.image.shape[2 + i]);
    params.out[i] = narrow(windows.columns.shape[1 + i]);
    params.kernel[i] = narrow(windows.columns.shape[5 + i]);
    params.stride[i] = static_cast<std::int32_t>(windows.axes[i].stride);
    params.pad[i] = static_cast<std::int32_t>(windows.axes[i].pad);
    params.dilation[i] = static_cast<std::int32_t>(windows.axes[i].dilation);
    params.step[i] = static_cast<std::int32_t>(windows.image.stride[2 + i]);
  }
  params.channels = narrow(windows.image.shape[1]);
  for (std::uint32_t i = 0; i < 2; ++i) params.batch[i] = narrow(windows.image.stride[i]);
  for (std::uint32_t i = 0; i < 8; ++i) params.columns[i] = narrow(windows.columns.stride[i]);
  return params;
}

Status emit(Plan& plan, std::string_view source, const Variant& variant, const Params& params,
            const Operand& from, const Operand& to, const Caps& caps) {
  Launch launch;
  launch.source = source;
  launch.label = formatted("{} {} to {}", source.substr(0, source.find('.')), name(from.view.dtype),
                           name(to.view.dtype));
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.operands = {from, to};
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// The widest chunks of dimensions [first, first + 4) of the columns that one store can take.
std::uint32_t chunk_along(const View& columns, std::uint32_t first) {
  std::uint64_t run = 1;  // elements that lie side by side
  std::uint32_t dim = first + 4;
  while (dim > first && (columns.shape[dim - 1] == 1 || columns.stride[dim - 1] == run)) {
    run *= columns.shape[dim - 1];
    --dim;
  }
  for (const std::uint32_t chunk : {8U, 4U, 2U}) {
    const std::uint32_t bytes = chunk * size_of(columns.dtype);
    if (bytes > 16 || bytes < 4 || (chunk == 2 && size_of(columns.dtype) == 4)) continue;
    bool fits = run % chunk == 0 && columns.offset % bytes == 0;
    for (std::uint32_t i = 0; i < columns.rank; ++i) {
      const bool inside = i >= dim && i < first + 4;
      fits = fits && (inside || columns.shape[i] == 1 || columns.stride[i] % chunk == 0);
    }
    if (fits) return chunk;
  }
  return 1;
}

Status launch_unfold(Plan& plan, const Windows& windows, const Caps& caps) {
  Params params = params_of(windows);
  const View& columns = windows.columns;
  const std::array chunks{chunk_along(columns, 0), chunk_along(columns, 4)};
  // By which kind neighbouring invocations are neighbours in memory where neither is dense.
  const auto step = [&](std::uint32_t first) {
    std::uint64_t least = ~0ULL;
    for (std::uint32_t i = first; i < first + 4; ++i) {
      if (columns.shape[i] > 1) least = std::min(least, columns.stride[i]);
    }
    return least;
  };
  const bool by_position = chunks[0] != chunks[1] ? chunks[0] > chunks[1] : step(0) < step(4);
  const Variant variant{.inner = by_position ? "position" : "element",
                        .chunk = chunks[by_position ? 0 : 1]};
  std::array<std::uint64_t, 2> counts{1, 1};
  for (std::uint32_t i = 0; i < 8; ++i) counts[i / 4] *= columns.shape[i];
  params.inner_chunks = narrow(counts[by_position ? 0 : 1] / variant.chunk);
  params.outer = narrow(counts[by_position ? 1 : 0]);
  params.total = params.inner_chunks * ceil_div(params.outer, each);
  const bool shared = variant.chunk == 1 && size_of(columns.dtype) < 4;
  const Operand to{"columns", columns, shared ? Access::atomic : Access::write,
                   std::max(1U, variant.chunk * size_of(columns.dtype) / 4)};
  return emit(plan, "unfold/unfold.wgsl", variant, params, {"image", windows.image}, to, caps);
}

Status launch_fold(Plan& plan, const Windows& windows, const Caps& caps) {
  Params params = params_of(windows);
  const View& image = windows.image;
  Variant variant;
  Access access = Access::write;
  if (size_of(image.dtype) == 2) {
    bool pairs = image.shape[4] % 2 == 0 && image.stride[4] == 1 && image.offset % 4 == 0;
    for (std::uint32_t i = 0; i < 4; ++i)
      pairs = pairs && (image.shape[i] == 1 || image.stride[i] % 2 == 0);
    variant.chunk = pairs ? 2 : 1;
    if (!pairs) access = Access::atomic;
  }
  params.total = narrow(image.count() / variant.chunk);
  return emit(plan, "unfold/fold.wgsl", variant, params, {"columns", windows.columns},
              {"image", image, access}, caps);
}

/// The dimension along which a view spreads most, of those that `may` allows; its rank if it is one
/// element.
template <class May>
std::uint32_t widest(const View& view, May&& may) {
  std::uint32_t dim = view.rank;
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    const std::uint64_t spread =
        view.shape[i] > 1 ? (view.shape[i] - 1) * std::max<std::uint64_t>(view.stride[i], 1) : 0;
    if (spread > most && may(i)) std::tie(dim, most) = std::tuple{i, spread};
  }
  return dim;
}

/// Cuts the written tensor until both fit a binding, then launches.
Status split(Plan& plan, const Windows& windows, bool fold, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const View& to = fold ? windows.image : windows.columns;
  const View& from = fold ? windows.columns : windows.image;
  const bool wide = to.bytes().size() > budget || windows.columns.count() >= (1ULL << 31);
  if (!wide && from.bytes().size() <= budget)
    return fold ? launch_fold(plan, windows, caps) : launch_unfold(plan, windows, caps);
  // Dimensions behind the fifth are those of the kernel, and cutting them hardly shrinks what is
  // read.
  const std::uint32_t dim = widest(to, [&](std::uint32_t i) { return wide || i < 5; });
  if (dim == to.rank) {
    return fail(ErrorCode::unsupported,
                "One window of {} needs more than the {} bytes that this device binds.",
                describe(windows.image), caps.max_binding);
  }
  const std::uint64_t half = half_of(to.shape[dim]);
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    return fold ? cut_image(windows, dim, first, count) : cut_columns(windows, dim, first, count);
  };
  return split(plan, cut(0, half), fold, caps).and_then([&] {
    return split(plan, cut(half, to.shape[dim] - half), fold, caps);
  });
}

Status check_output(std::string_view op, const View& from, const View& to) {
  if (const Status ok = check_distinct(to, "y"); !ok) return ok;
  if (overlap(from, to)) {
    return fail(ErrorCode::invalid_argument, "The output {} of {} shares memory with its input {}.",
                describe(to), op, describe(from));
  }
  return {};
}

Result<Plan> plan_windows(std::string_view op, const View& image, const View& columns,
                          std::span<const Axis> axes, bool fold, const Caps& caps) {
  auto windows = normalize(op, image, columns, axes);
  if (!windows) return std::unexpected(windows.error());
  const View& to = fold ? image : columns;
  const View& from = fold ? columns : image;
  if (to.empty()) return Plan{};
  if (const Status ok = check_output(op, from, to); !ok) return std::unexpected(ok.error());
  if (from.empty()) return map::plan({.function = "fill", .y = to, .scalars = {0.0}}, caps);
  Plan plan;
  if (const Status ok = split(plan, *windows, fold, caps); !ok)
    return wrap(ok.error(), formatted("planning {}", op));
  return plan;
}

}  // namespace

Result<Plan> plan(const UnfoldArgs& args, const Caps& caps) {
  return plan_windows("unfold", args.image, args.columns, args.axes, false, caps);
}

Result<Plan> plan(const FoldArgs& args, const Caps& caps) {
  return plan_windows("fold", args.image, args.columns, args.axes, true, caps);
}

}  // namespace weft::ops::unfold
