#include "ops/searchsorted/searchsorted.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::searchsorted {
namespace {

struct Variant {
  std::string_view domain;
  bool right = false;
  bool more = false;       // the count goes on from what y has
  std::uint32_t rank = 0;  // dimensions in front of the rows
};

struct Params {
  std::uint32_t total = 0;
  std::uint32_t columns = 0;  // values in a row
  std::uint32_t length = 0;   // sorted elements in a row
  std::uint32_t sorted_step = 0;
  std::uint32_t values_step = 0;
  std::uint32_t y_step = 0;
  std::array<std::uint32_t, max_rank> rows{};
  std::array<std::uint32_t, max_rank> sorted_row{};
  std::array<std::uint32_t, max_rank> values_row{};
  std::array<std::uint32_t, max_rank> y_row{};
};

Status check(const Args& args) {
  if (const Status ok = validate(args.sorted, "sorted"); !ok) return ok;
  if (const Status ok = validate(args.values, "values"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  const View& values = args.values;
  const bool rows = values.rank > 0 && args.sorted.rank == values.rank &&
                    std::ranges::equal(args.sorted.extents().first(values.rank - 1),
                                       values.extents().first(values.rank - 1));
  if (!rows || !std::ranges::equal(values.extents(), args.y.extents())) {
    return fail(ErrorCode::invalid_argument,
                "searchsorted needs sorted [..., n], values [..., m] and an output of their shape; "
                "the tensors are {}, {} and {}.",
                describe(args.sorted), describe(values), describe(args.y));
  }
  const DType type = values.dtype;
  if (is_quantized(type) || args.sorted.dtype != type || args.y.dtype != DType::i32) {
    return fail(ErrorCode::unsupported,
                "searchsorted takes two tensors of one plain type and gives i32; the tensors are "
                "{}, {} and {}.",
                describe(args.sorted), describe(values), describe(args.y));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (overlap(args.sorted, args.y) || overlap(values, args.y)) {
    return fail(ErrorCode::invalid_argument,
                "The output {} of searchsorted shares memory with {} or {}.", describe(args.y),
                describe(args.sorted), describe(values));
  }
  return {};
}

/// The type in which a shader compares elements.
std::string_view domain_of(DType type) {
  if (is_float(type)) return "f32";
  if (type == DType::i64) return "i64";
  return type == DType::u32 || type == DType::u8 || type == DType::boolean ? "u32" : "i32";
}

Status launch(Plan& plan, const Args& args, bool more, const Caps& caps) {
  const View& values = args.values;
  const std::uint32_t last = values.rank - 1;
  Params params;
  params.total = narrow(values.count());
  params.columns = narrow(values.shape[last]);
  params.length = narrow(args.sorted.shape[last]);
  params.sorted_step = narrow(args.sorted.stride[last]);
  params.values_step = narrow(values.stride[last]);
  params.y_step = narrow(args.y.stride[last]);
  for (std::uint32_t i = 0; i < last; ++i) {
    params.rows[i] = narrow(values.shape[i]);
    params.sorted_row[i] = narrow(args.sorted.stride[i]);
    params.values_row[i] = narrow(values.stride[i]);
    params.y_row[i] = narrow(args.y.stride[i]);
  }
  Launch launch;
  launch.source = "searchsorted/searchsorted.wgsl";
  launch.label = formatted("searchsorted {}", name(values.dtype));
  launch.constants = constants_of(
      Variant{.domain = domain_of(values.dtype), .right = args.right, .more = more, .rank = last});
  launch.params = block_of(params);
  launch.operands = {{.name = "sorted", .view = args.sorted},
                     {.name = "values", .view = values},
                     {.name = "y", .view = args.y, .access = Access::write}};
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// Halves the rows, then a sorted row (what lies below a value in both halves adds up: `more` says
/// that y has a count already), and then the values of a row, until every tensor fits one binding.
Status split(Plan& plan, const Args& args, bool more, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto fits = [&](const View& view) { return view.bytes().size() <= budget; };
  if (fits(args.sorted) && fits(args.values) && fits(args.y) && args.y.count() < (1ULL << 31)) {
    return launch(plan, args, more, caps);
  }
  const std::uint32_t last = args.values.rank - 1;
  std::uint32_t dim = 0;
  while (dim < last && args.values.shape[dim] == 1) ++dim;
  const bool of_row = dim == last;
  if (of_row && !fits(args.sorted)) {
    const std::uint64_t length = args.sorted.shape[last];
    if (length == 1) {
      return fail(ErrorCode::unsupported, "searchsorted cannot bind a row of {} within {} bytes.",
                  describe(args.sorted), budget);
    }
    const std::uint64_t first = half_of(length);
    Args part = args;
    part.sorted = args.sorted.slice(last, 0, first);
    return split(plan, part, more, caps).and_then([&] {
      part.sorted = args.sorted.slice(last, first, length - first);
      return split(plan, part, true, caps);
    });
  }
  const std::uint64_t extent = args.values.shape[dim];
  const std::uint64_t half = half_of(extent);
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    Args part = args;
    if (!of_row) part.sorted = args.sorted.slice(dim, first, count);
    part.values = args.values.slice(dim, first, count);
    part.y = args.y.slice(dim, first, count);
    return part;
  };
  return split(plan, cut(0, half), more, caps).and_then([&] {
    return split(plan, cut(half, extent - half), more, caps);
  });
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  if (args.sorted.empty())  // which may have no buffer to bind
    return map::plan({.function = "fill", .y = args.y, .scalars = {0}}, caps);
  if (const Status ok = split(plan, args, false, caps); !ok)
    return wrap(ok.error(), "planning searchsorted");
  return plan;
}

}  // namespace weft::ops::searchsorted
