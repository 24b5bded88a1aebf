#include "ops/integer_conv/integer_conv.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/choose.hpp"
#include "ops/integer_gemm/matrix_tile.hpp"
#include "ops/integer_gemm/result.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::integer_conv {
namespace {

using integer_gemm::is_byte;

constexpr std::uint64_t tile = 64;  // as in integer_gemm/products.wgsl

struct Variant {
  bool unsigned_a = false;
  bool unsigned_b = false;
  bool zero_a = false;
  bool zero_b = false;
  bool zeros = false;    // anything has to be subtracted
  bool words_a = false;  // four neighbouring channels are one word
  bool words_b = false;
  bool across = false;  // windows lie side by side
  bool factors = false;
  bool others = false;
  std::string_view channels = "rows";  // what factors go along
  std::int32_t low = 0;                // of whole numbers that sums become
  std::int32_t high = 0;
  bool vec = false;  // four neighbouring windows of y are stored at once
};

using Spatial = std::array<std::uint32_t, 3>;

struct Params {
  std::uint32_t groups = 0;  // of invocations
  std::uint32_t tiles_m = 0;
  std::uint32_t tiles_n = 0;
  std::uint32_t m = 0;  // channels of y in a part
  std::uint32_t n = 0;  // windows
  std::uint32_t k = 0;
  std::uint32_t fours = 0;  // of K
  std::uint32_t parts = 0;  // groups of channels
  std::uint32_t channels = 0;
  std::uint32_t channel_fours = 0;
  std::uint32_t w_part = 0;
  std::uint32_t x_part = 0;
  std::uint32_t y_part = 0;
  std::uint32_t x_image = 0;
  std::uint32_t y_image = 0;
  std::uint32_t w_row = 0;
  std::uint32_t w_channel = 0;
  std::uint32_t x_channel = 0;
  std::uint32_t y_row = 0;
  std::uint32_t za_step = 0;
  std::uint32_t zb_step = 0;
  std::uint32_t factors_step = 0;
  std::uint32_t factors_next = 0;
  Spatial w{};
  Spatial x{};
  Spatial y{};
  Spatial extent{};
  Spatial windows{};
  Spatial kernel{};
  Spatial stride{};
  Spatial dilation{};
  Spatial pad{};  // goes round where it is negative
};

Status check(const Args& args) {
  for (const View* view : {&args.x, &args.w, &args.y}) {
    if (const Status ok = validate(*view, "a convolution of whole numbers"); !ok) return ok;
  }
  const View& x = args.x;
  const View& w = args.w;
  const View& y = args.y;
  const std::size_t spatial = args.axes.size();
  const bool ranks =
      spatial >= 1 && spatial <= 3 && x.rank == spatial + 2 && w.rank == x.rank && y.rank == x.rank;
  const auto steps = [](const Axis& axis) { return axis.stride > 0 && axis.dilation > 0; };
  if (!ranks || !is_byte(x.dtype) || !is_byte(w.dtype) || args.groups == 0 ||
      !std::ranges::all_of(args.axes, steps) || x.shape[0] != y.shape[0] ||
      w.shape[0] != y.shape[1] || x.shape[1] != w.shape[1] * args.groups ||
      y.shape[1] % args.groups != 0) {
    return fail(ErrorCode::invalid_argument,
                "A convolution of whole numbers needs x [N, C, spatial…] and weights [OC, C / "
                "groups, k…] of i8 or u8 and a result [N, OC, o…]; it was given {}, {} and {} with "
                "{} groups and {} spatial dimensions.",
                describe(x), describe(w), describe(y), args.groups, spatial);
  }
  const auto zero = [](const View& view, std::uint64_t extent) {
    return !view.given() || (view.dtype == DType::i32 && view.rank == 1 && view.shape[0] == extent);
  };
  if (!zero(args.x_zero, 1) || !zero(args.w_zero, y.shape[1])) {
    return fail(ErrorCode::invalid_argument,
                "Zero points of a convolution of whole numbers are i32 [1] and [{}]; they are {} "
                "and {}.",
                y.shape[1], describe(args.x_zero), describe(args.w_zero));
  }
  if (const Status ok = integer_gemm::check_result(y.dtype, args.factors, y.shape[1]); !ok) {
    return ok;
  }
  if (y.empty()) return {};
  if (const Status ok = check_distinct(y, "y"); !ok) return ok;
  for (const View* view : {&args.x, &args.w, &args.x_zero, &args.w_zero, &args.factors}) {
    if (!overlap(*view, y)) continue;
    return fail(ErrorCode::invalid_argument,
                "The result {} of a convolution of whole numbers shares memory with {}.",
                describe(y), describe(*view));
  }
  return {};
}

/// The strides of the spatial dimensions, as three of them.
Spatial spatial_strides(const View& view) {
  Spatial out{};
  for (std::uint32_t i = 2; i < view.rank; ++i) out[i + 3 - view.rank] = narrow(view.stride[i]);
  return out;
}

Spatial spatial_extents(const View& view) {
  Spatial out{1, 1, 1};
  for (std::uint32_t i = 2; i < view.rank; ++i) out[i + 3 - view.rank] = narrow(view.shape[i]);
  return out;
}

/// Whether four neighbouring windows, the first of them a multiple of four, are neighbours in y as
/// well, in words of their own.
bool stores_fours(const View& y) {
  if (rows_aligned(y, 4)) return true;
  // As one dimension, where the spatial ones follow each other.
  View merged = y;
  while (merged.rank > 3) {
    const std::uint32_t last = merged.rank - 1;
    if (merged.stride[last - 1] != merged.stride[last] * merged.shape[last]) return false;
    merged.shape[last - 1] *= merged.shape[last];
    merged.stride[last - 1] = merged.stride[last];
    --merged.rank;
  }
  return rows_aligned(merged, 4);
}

Params params_of(const Args& args) {
  const View& x = args.x;
  const View& w = args.w;
  const View& y = args.y;
  Params params;
  params.parts = narrow(args.groups);
  params.m = narrow(y.shape[1] / args.groups);
  params.channels = narrow(w.shape[1]);
  params.channel_fours = narrow(ceil_div<std::uint64_t>(w.shape[1], 4));
  params.extent = spatial_extents(x);
  params.windows = spatial_extents(y);
  params.kernel = spatial_extents(w);
  params.w = spatial_strides(w);
  params.x = spatial_strides(x);
  params.y = spatial_strides(y);
  params.stride = params.dilation = {1, 1, 1};
  for (std::size_t i = 0; i < args.axes.size(); ++i) {
    const std::size_t to = i + 3 - args.axes.size();
    params.stride[to] = narrow(args.axes[i].stride);
    params.dilation[to] = narrow(args.axes[i].dilation);
    params.pad[to] = static_cast<std::uint32_t>(args.axes[i].pad);
  }
  const std::uint64_t taps = std::uint64_t{params.kernel[0]} * params.kernel[1] * params.kernel[2];
  params.n = narrow(std::uint64_t{params.windows[0]} * params.windows[1] * params.windows[2]);
  params.k = narrow(taps * params.channels);
  params.fours = narrow(taps * params.channel_fours);
  params.w_part = narrow(params.m * w.stride[0]);
  params.x_part = narrow(w.shape[1] * x.stride[1]);
  params.y_part = narrow(params.m * y.stride[1]);
  params.x_image = narrow(x.stride[0]);
  params.y_image = narrow(y.stride[0]);
  params.w_row = narrow(w.stride[0]);
  params.w_channel = narrow(w.stride[1]);
  params.x_channel = narrow(x.stride[1]);
  params.y_row = narrow(y.stride[1]);
  return params;
}

using Tile = std::optional<integer_gemm::MatrixTile>;

/// With a tile of matrices, or without.
Status launch(Plan& plan, const Args& args, const Tile& matrices, const Caps& caps) {
  const View& y = args.y;
  Params params = params_of(args);
  const std::uint64_t tall =
      matrices ? matrices->bm : workgroup_width(caps) / 4;  // as in products.wgsl
  params.tiles_m = narrow(ceil_div<std::uint64_t>(params.m, tall));
  params.tiles_n = narrow(ceil_div<std::uint64_t>(params.n, matrices ? matrices->bn : tile));
  const std::uint64_t groups =
      std::uint64_t{params.tiles_m} * params.tiles_n * params.parts * y.shape[0];
  params.groups = narrow(groups);
  const integer_gemm::Range range = integer_gemm::range_of(y.dtype);
  const std::uint32_t last = args.x.rank - 1;
  Variant variant{
      .unsigned_a = args.w.dtype == DType::u8,
      .unsigned_b = args.x.dtype == DType::u8,
      .zero_a = args.w_zero.given(),
      .zero_b = args.x_zero.given(),
      .zeros = false,
      .words_a = integer_gemm::in_words(args.w, 1),
      .words_b = integer_gemm::in_words(
          args.groups == 1 ? args.x : args.x.split(1, args.w.shape[1]), args.groups == 1 ? 1 : 2),
      .across = args.x.stride[last] == 1,
      .factors = args.factors.given(),
      .low = range.low,
      .high = range.high,
      .vec = stores_fours(y)};
  variant.zeros = integer_gemm::turns(args.w.dtype, matrices) ||
                  integer_gemm::turns(args.x.dtype, matrices) || variant.zero_a || variant.zero_b;
  Launch launch;
  launch.source = matrices ? "integer_conv/matrix.wgsl" : "integer_conv/integer_conv.wgsl";
  launch.label = formatted("integer_conv{} {} {}", matrices ? " matrix" : "", name(args.x.dtype),
                           name(y.dtype));
  launch.operands = {{.name = "a", .view = args.w},
                     {.name = "b", .view = args.x},
                     integer_gemm::result_operand(y, variant.vec)};
  if (variant.zero_a) {
    params.za_step = narrow(args.w_zero.stride[0]);
    launch.operands.push_back({.name = "za", .view = args.w_zero});
  }
  if (variant.zero_b) launch.operands.push_back({.name = "zb", .view = args.x_zero});
  if (variant.factors) {
    params.factors_next = narrow(args.factors.stride[0]);
    params.factors_step = narrow(args.factors.stride[1]);
    launch.operands.push_back({.name = "factors", .view = args.factors});
  }
  launch.constants = constants_of(variant);
  if (matrices) {
    launch.constants.merge(constants_of(*matrices));
    launch.features = integer_gemm::features_of(*matrices, caps);
  }
  launch.params = block_of(params);
  launch.grid = grid_1d(groups, caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// The tile of matrices for the channels of a group times the windows of an image.
Tile tile_of(std::string_view kernel, const Args& args, const Caps& caps) {
  const View& y = args.y;
  std::uint64_t windows = 1;
  for (std::uint32_t i = 2; i < y.rank; ++i) windows *= y.shape[i];
  return integer_gemm::matrix_tile(kernel, y.shape[1] / args.groups, windows, caps);
}

Status can_matrix(const Args&, const Caps& caps) {
  return integer_gemm::check_kernel("matrix", caps);
}

bool worth_matrix(const Args& args, const Caps& caps) {
  return tile_of("", args, caps).has_value();
}

Status launch_matrix(Plan& plan, const Args& args, const Caps& caps) {
  return launch(plan, args, tile_of("matrix", args, caps), caps);
}

Status can_plain(const Args&, const Caps&) { return {}; }
bool always(const Args&, const Caps&) { return true; }

Status launch_plain(Plan& plan, const Args& args, const Caps& caps) {
  return launch(plan, args, std::nullopt, caps);
}

/// One kernel of the op's list: `can` says why it cannot make a convolution at all, `worth` whether
/// it is a good choice, `launch` adds what it takes to a plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const Args&, const Caps&);
  bool (*worth)(const Args&, const Caps&);
  Status (*launch)(Plan&, const Args&, const Caps&);
};

constexpr Kernel matrix_kernel{"matrix", can_matrix, worth_matrix, launch_matrix};
constexpr Kernel plain_kernel{"plain", can_plain, always, launch_plain};

// In order of preference.
constexpr std::array kernels{&matrix_kernel, &plain_kernel};

/// The windows first…first + count along a spatial dimension, with the part of the image that they
/// see.
Args windows_of(const Args& args, std::uint32_t axis, std::uint64_t first, std::uint64_t count) {
  Args part = args;
  Axis& along = part.axes[axis];
  const std::uint32_t dim = axis + 2;
  const auto extent = static_cast<std::int64_t>(args.x.shape[dim]);
  const auto begin = static_cast<std::int64_t>(first * along.stride) - along.pad;
  const auto end = begin + static_cast<std::int64_t>((count - 1) * along.stride +
                                                     (args.w.shape[dim] - 1) * along.dilation + 1);
  const std::int64_t from = std::clamp<std::int64_t>(begin, 0, extent);
  const std::int64_t to = std::clamp<std::int64_t>(end, from, extent);
  // An image without a place is not wanted: nothing of one place is seen instead.
  const std::int64_t kept = std::max<std::int64_t>(to - from, 1);
  const std::int64_t start = std::min(from, extent - kept);
  part.y = args.y.slice(dim, first, count);
  part.x = args.x.slice(dim, static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(kept));
  along.pad = start - begin;
  return part;
}

/// The output channels from `first` on; with several groups whole ones, which see their input
/// channels.
Args channels_of(const Args& args, std::uint64_t first, std::uint64_t count) {
  Args part = args;
  const std::uint64_t each = args.y.shape[1] / args.groups;
  part.y = args.y.slice(1, first, count);
  part.w = args.w.slice(0, first, count);
  if (args.w_zero.given()) part.w_zero = args.w_zero.slice(0, first, count);
  if (args.factors.given()) part.factors = args.factors.slice(1, first, count);
  if (args.groups == 1) return part;
  part.groups = count / each;
  part.x = args.x.slice(1, first / each * args.w.shape[1], part.groups * args.w.shape[1]);
  return part;
}

/// Halves images, channels or windows until every tensor fits one binding.
Status split(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto fits = [&](const View& view) {
    return view.bytes().size() <= budget && view.count() < (1ULL << 31);
  };
  const View& y = args.y;
  if (fits(args.x) && fits(args.w) && fits(y)) {
    const auto kernel =
        choose_kernel(kernels, "A convolution of whole numbers", args.kernel, args, caps);
    if (!kernel) return std::unexpected(kernel.error());
    return (*kernel)->launch(plan, args, caps);
  }
  const auto both = [&](std::uint64_t extent, std::uint64_t half, const auto& cut) {
    return split(plan, cut(0, half), caps).and_then([&] {
      return split(plan, cut(half, extent - half), caps);
    });
  };
  if (y.shape[0] > 1) {
    return both(y.shape[0], half_of(y.shape[0]), [&](std::uint64_t first, std::uint64_t count) {
      Args part = args;
      part.y = y.slice(0, first, count);
      part.x = args.x.slice(0, first, count);
      return part;
    });
  }
  if (args.groups > 1 || ((!fits(args.w) || (fits(args.x) && !fits(y))) && y.shape[1] > 1)) {
    const std::uint64_t each = args.groups > 1 ? y.shape[1] / args.groups : 1;
    return both(
        y.shape[1], half_of(y.shape[1] / each) * each,
        [&](std::uint64_t first, std::uint64_t count) { return channels_of(args, first, count); });
  }
  for (std::uint32_t axis = 0; axis < args.axes.size(); ++axis) {
    const std::uint64_t extent = y.shape[axis + 2];
    if (extent == 1) continue;
    return both(extent, half_of(extent), [&](std::uint64_t first, std::uint64_t count) {
      return windows_of(args, axis, first, count);
    });
  }
  return fail(ErrorCode::unsupported,
              "A convolution of {} with {} needs a window and the weights of a channel within one "
              "binding of the device, {} bytes.",
              describe(args.x), describe(args.w), budget);
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  if (const Status ok = integer_gemm::check_kernel(args.kernel, caps); !ok) {
    return std::unexpected(ok.error());
  }
  if (const Status ok = split(plan, args, caps); !ok) {
    return wrap(ok.error(), "planning a convolution of whole numbers");
  }
  return plan;
}

}  // namespace weft::ops::integer_conv
