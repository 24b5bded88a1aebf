#include "ops/bincount/bincount.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::bincount {
namespace {

/// Bins that a workgroup counts for itself.
constexpr std::uint64_t most_local = 4096;

struct Variant {
  std::string_view phase;
  std::uint32_t local = 0;  // bins in workgroup memory
};

struct Params {
  std::uint32_t count = 0;
  std::uint32_t each = 0;  // elements of a workgroup
  std::uint32_t groups = 0;
  std::uint32_t bins = 0;
  std::uint32_t first_bin = 0;
  std::uint32_t x_step = 0;
  std::uint32_t y_step = 0;
};

Status check(const Args& args) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (args.x.rank != 1 || args.y.rank != 1 || args.x.dtype != DType::i32 ||
      args.y.dtype != DType::i32 || args.y.shape[0] >= (1ULL << 31)) {
    return fail(ErrorCode::invalid_argument,
                "Counting needs whole numbers i32 [n] and a result i32 [bins] of less than 2^31; "
                "they are {} and {}.",
                describe(args.x), describe(args.y));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (overlap(args.x, args.y)) {
    return fail(ErrorCode::invalid_argument, "The counts {} share memory with what they count, {}.",
                describe(args.y), describe(args.x));
  }
  return {};
}

Params params_of(const Args& args, std::uint64_t first_bin) {
  Params params;
  params.count = narrow(args.x.shape[0]);
  params.bins = narrow(args.y.shape[0]);
  params.first_bin = narrow(first_bin);
  params.x_step = narrow(args.x.stride[0]);
  params.y_step = narrow(args.y.stride[0]);
  return params;
}

/// Counts as the shader adds them up.
View words_of(const View& y) {
  View words = y;
  words.dtype = DType::u32;
  return words;
}

Status clear(Plan& plan, const Args& args, const Caps& caps) {
  Launch launch;
  launch.source = "bincount/bincount.wgsl";
  launch.label = "bincount clear";
  launch.operands = {{.name = "y", .view = words_of(args.y), .access = Access::write}};
  launch.constants = constants_of(Variant{.phase = "clear"});
  launch.params = block_of(params_of(args, 0));
  launch.grid = grid_1d(ceil_div<std::uint64_t>(args.y.shape[0], workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

Status count(Plan& plan, const Args& args, std::uint64_t first_bin, const Caps& caps) {
  const std::uint64_t bins = args.y.shape[0];
  const std::uint64_t width = workgroup_width(caps);
  Variant variant{.phase = "count"};
  const bool fits = bins <= std::min<std::uint64_t>(most_local, caps.workgroup_bytes / 4);
  if (fits && !caps.traits.slow_barriers) {
    variant.local = static_cast<std::uint32_t>(std::bit_ceil(bins));
  }
  Params params = params_of(args, first_bin);
  // A workgroup has several elements for each of its bins, so that adding them up costs little.
  const std::uint64_t least =
      round_up(std::max(8 * width, 4 * std::uint64_t{variant.local}), width);
  const std::uint64_t share =
      round_up(ceil_div<std::uint64_t>(params.count, caps.traits.fill(8)), width);
  params.each = narrow(std::max(least, share));
  params.groups = narrow(ceil_div<std::uint64_t>(params.count, params.each));
  Launch launch;
  launch.source = "bincount/bincount.wgsl";
  launch.label = "bincount";
  launch.operands = {{.name = "x", .view = args.x},
                     {.name = "y", .view = words_of(args.y), .access = Access::atomic}};
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.grid = grid_1d(params.groups, caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// Elements of x one part after the other.
Status count_parts(Plan& plan, const Args& args, std::uint64_t first_bin, const Caps& caps) {
  const std::uint64_t n = args.x.shape[0];
  if (n == 0) return {};
  if (args.x.bytes().size() <= binding_budget(caps) && n < (1ULL << 31)) {
    return count(plan, args, first_bin, caps);
  }
  const std::uint64_t half = half_of(n);
  Args low = args;
  Args high = args;
  low.x = args.x.slice(0, 0, half);
  high.x = args.x.slice(0, half, n - half);
  return count_parts(plan, low, first_bin, caps).and_then([&] {
    return count_parts(plan, high, first_bin, caps);
  });
}

/// Halves the bins until they fit one binding.
Status split(Plan& plan, const Args& args, std::uint64_t first_bin, const Caps& caps) {
  const std::uint64_t bins = args.y.shape[0];
  if (args.y.bytes().size() <= binding_budget(caps)) {
    return clear(plan, args, caps).and_then([&] {
      return count_parts(plan, args, first_bin, caps);
    });
  }
  const std::uint64_t half = half_of(bins);
  Args low = args;
  Args high = args;
  low.y = args.y.slice(0, 0, half);
  high.y = args.y.slice(0, half, bins - half);
  return split(plan, low, first_bin, caps).and_then([&] {
    return split(plan, high, first_bin + half, caps);
  });
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  if (const Status ok = split(plan, args, 0, caps); !ok) {
    return wrap(ok.error(), "planning a count of whole numbers");
  }
  return plan;
}

}  // namespace weft::ops::bincount
