#include "ops/rows/outside.hpp"

#include <array>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::rows {
namespace {

struct Variant {
  std::uint32_t rank = 0;
  bool negative = false;
  bool ignored = false;
};

struct Params {
  std::uint32_t total = 0;
  std::uint32_t first = 0;  // the position of the first index of this launch
  std::uint32_t count = 0;
  std::int32_t ignored = 0;
  std::array<std::uint32_t, max_rank> shape{};
  std::array<std::uint32_t, max_rank> step{};
};

Status check(const OutsideArgs& args) {
  for (const auto& [view, what] : {std::pair{&args.indices, "indices"}, {&args.status, "status"}}) {
    if (const Status ok = validate(*view, what); !ok) return ok;
  }
  if (args.indices.dtype != DType::i32 && args.indices.dtype != DType::i64) {
    return fail(ErrorCode::unsupported, "Indices are i32 or i64; they are {}.",
                describe(args.indices));
  }
  const View& status = args.status;
  if (status.dtype != DType::u32 || status.rank != 1 || status.shape[0] < 2 ||
      status.stride[0] != 1) {
    return fail(ErrorCode::invalid_argument,
                "The status of indices must be two neighbouring u32; it is {}.", describe(status));
  }
  if (args.count > (1ULL << 31U) || args.indices.count() >= (1ULL << 32U)) {
    return fail(ErrorCode::unsupported,
                "{} cannot be counted against {}: at most 2^32 indices below 2^31 can.",
                describe(args.indices), args.count);
  }
  return {};
}

/// Halves the indices along their first dimension until they fit one binding: positions go on.
Status emit(Plan& plan, const OutsideArgs& args, std::uint64_t first, const Caps& caps) {
  const View& indices = args.indices;
  if (indices.bytes().size() > binding_budget(caps) || indices.count() >= (1ULL << 31U)) {
    std::uint32_t dim = 0;
    while (dim < indices.rank && indices.shape[dim] == 1) ++dim;
    const std::uint64_t extent = indices.shape[dim];
    const std::uint64_t half = extent / 2;
    OutsideArgs front = args;
    OutsideArgs back = args;
    front.indices = indices.slice(dim, 0, half);
    back.indices = indices.slice(dim, half, extent - half);
    return emit(plan, front, first, caps).and_then([&] {
      return emit(plan, back, first + front.indices.count(), caps);
    });
  }
  Params params{.total = static_cast<std::uint32_t>(indices.count()),
                .first = static_cast<std::uint32_t>(first),
                .count = static_cast<std::uint32_t>(args.count),
                .ignored = args.ignored.value_or(0)};
  for (std::uint32_t i = 0; i < indices.rank; ++i) {
    params.shape.at(i) = static_cast<std::uint32_t>(indices.shape[i]);
    params.step.at(i) = static_cast<std::uint32_t>(indices.stride[i]);
  }
  Launch launch;
  launch.source = "rows/outside.wgsl";
  launch.label = formatted("outside {}", name(indices.dtype));
  launch.constants = constants_of(Variant{
      .rank = indices.rank, .negative = args.negative, .ignored = args.ignored.has_value()});
  launch.params = block_of(params);
  View status = args.status;
  status.shape[0] = 2;
  launch.operands = {{.name = "indices", .view = indices},
                     {.name = "status", .view = status, .access = Access::atomic}};
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

}  // namespace

Result<Plan> plan(const OutsideArgs& args, const Caps& caps) {
  Plan plan;
  if (!args.status.given() || args.indices.empty()) return plan;
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  if (const Status ok = emit(plan, args, 0, caps); !ok)
    return wrap(ok.error(), "planning a check of indices");
  return plan;
}

}  // namespace weft::ops::rows
