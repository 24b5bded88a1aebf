#include "ops/resize/resize.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::resize {
namespace {

struct Variant {
  std::string_view mode;
  std::uint32_t chunk = 1;
  std::uint32_t items = 1;  // rows of an invocation
};

using Four = std::array<std::uint32_t, 4>;

struct Params {
  std::uint32_t total = 0;
  std::uint32_t first = 0;  // row of y at which this launch starts
  std::uint32_t whole = 0;  // nearest: rows of x for one of y, and what is left of to[2]
  std::uint32_t part = 0;
  float offset = 0.5F;
  std::array<float, 2> scale{};  // steps in x for one in y, along H and W
  Four size{};                   // extents of x
  Four out{};                    // extents of y
  Four from{};                   // nearest: element i of y is i * from / to of x
  Four to{};
  Four x{};
  Four y{};
};

/// Extents up to this size are exact in the arithmetic of the kernel.
constexpr std::uint64_t most = 1ULL << 15;

Status check(const Args& args) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (args.x.rank != 4 || args.y.rank != 4) {
    return fail(ErrorCode::invalid_argument,
                "Resizing takes images [N, C, H, W]; they are {} and {}.", describe(args.x),
                describe(args.y));
  }
  if (!is_float(args.x.dtype) || !is_float(args.y.dtype)) {
    return fail(ErrorCode::unsupported,
                "Resizing takes f32, f16 and bf16; the images are {} and {}.", describe(args.x),
                describe(args.y));
  }
  if (args.y.empty()) return {};
  if (args.x.empty()) {
    return fail(ErrorCode::invalid_argument, "There is nothing in {} to make {} of.",
                describe(args.x), describe(args.y));
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint64_t extent = std::max(args.x.shape[i], args.y.shape[i]);
    if (extent > most && args.x.shape[i] != args.y.shape[i]) {
      return fail(ErrorCode::unsupported,
                  "Resizing takes extents up to {}; the images are {} and {}.", most,
                  describe(args.x), describe(args.y));
    }
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (args.antialias && args.mode != Mode::linear) {
    return fail(ErrorCode::unsupported, "Only linear resizing has antialiasing.");
  }
  if (overlap(args.x, args.y)) {
    return fail(ErrorCode::invalid_argument, "The resized image {} shares memory with {}.",
                describe(args.y), describe(args.x));
  }
  return {};
}

/// A part of y, and where its rows start in the whole.
struct Part {
  View x;
  View y;
  std::uint64_t first = 0;
};

Status launch_part(Plan& plan, const Args& args, const Part& part, const Caps& caps) {
  Params params;
  Variant variant{.mode = args.antialias               ? "area"
                          : args.mode == Mode::nearest ? "nearest"
                          : args.mode == Mode::linear  ? "linear"
                                                       : "cubic"};
  if (args.align_corners) params.offset = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    params.size[i] = narrow(part.x.shape[i]);
    params.out[i] = narrow(part.y.shape[i]);
    params.x[i] = narrow(part.x.stride[i]);
    params.y[i] = narrow(part.y.stride[i]);
    // Along dimensions that parts are cut through, the ratio is that of the whole.
    std::uint64_t from = args.x.shape[i];
    std::uint64_t to = args.y.shape[i];
    if (i >= 2 && args.align_corners && from > 1 && to > 1) {
      --from;
      --to;
    }
    if (from == to) from = to = 1;
    params.from[i] = narrow(from);
    params.to[i] = narrow(to);
    if (i >= 2) params.scale[i - 2] = static_cast<float>(from) / static_cast<float>(to);
  }
  params.first = narrow(part.first);
  params.whole = params.from[2] / params.to[2];
  params.part = params.from[2] % params.to[2];
  const View& y = part.y;
  Access access = Access::write;
  if (size_of(y.dtype) < 4) {
    bool even = y.shape[3] % 2 == 0 && y.stride[3] == 1 && y.offset % 4 == 0;
    for (std::uint32_t i = 0; i < 3; ++i) even = even && (y.shape[i] == 1 || y.stride[i] % 2 == 0);
    if (even) {
      variant.chunk = 2;
    } else {
      access = Access::atomic;
    }
  }
  // Small images need all invocations to fill a device.
  const bool large = y.count() >= (1ULL << 20) && y.shape[2] >= 32;
  if (y.shape[2] >= 4) variant.items = caps.traits.items > 1 ? caps.traits.items : large ? 8 : 1;
  params.total =
      narrow(y.shape[0] * y.shape[1] * ceil_div<std::uint64_t>(y.shape[2], variant.items) *
             y.shape[3] / variant.chunk);
  Launch launch;
  launch.source = "resize/resize.wgsl";
  launch.label = formatted("resize {} {}", variant.mode, name(y.dtype));
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.operands = {{"x", part.x}, {"y", y, access}};
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// Cuts between planes that x and y both have, then between rows of y, until both fit a binding.
Status split(Plan& plan, const Args& args, const Part& part, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const bool small = part.x.bytes().size() <= budget && part.y.bytes().size() <= budget &&
                     part.y.count() < (1ULL << 31);
  if (small) return launch_part(plan, args, part, caps);
  for (std::uint32_t dim = 0; dim < 3; ++dim) {
    const bool both = args.x.shape[dim] == args.y.shape[dim] && dim < 2;
    if (part.y.shape[dim] == 1 || (dim < 2 && !both)) continue;
    const std::uint64_t half = half_of(part.y.shape[dim]);
    const auto cut = [&](std::uint64_t first, std::uint64_t count) {
      Part out = part;
      out.y = part.y.slice(dim, first, count);
      if (both) out.x = part.x.slice(dim, first, count);
      if (dim == 2) out.first += first;
      return out;
    };
    return split(plan, args, cut(0, half), caps).and_then([&] {
      return split(plan, args, cut(half, part.y.shape[dim] - half), caps);
    });
  }
  return fail(ErrorCode::unsupported,
              "A plane of {} or a row of {} needs more than the {} bytes that this device binds.",
              describe(args.x), describe(args.y), caps.max_binding);
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  const Status ok = split(plan, args, {.x = args.x, .y = args.y}, caps);
  if (!ok) return wrap(ok.error(), "planning a resize");
  return plan;
}

}  // namespace weft::ops::resize
