#include "ops/segments/segments.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::segments {
namespace {

struct Variant {
  std::string_view domain;
  std::string_view function;
  bool weighted = false;
  bool parts = false;       // several launches, each with some of the places and rows
  std::uint32_t lanes = 1;  // invocations that share a result
};

struct Params {
  std::uint32_t total = 0;
  std::uint32_t columns = 0;
  std::uint32_t all_rows = 0;  // of x
  std::uint32_t first_row = 0;
  std::uint32_t rows = 0;  // of this launch
  std::uint32_t all_places = 0;
  std::uint32_t first_place = 0;
  std::uint32_t places = 0;
  std::uint32_t first = 1;  // launch
  std::uint32_t last = 1;
  std::uint32_t first_rows = 1;  // of x, for these places
  std::uint32_t neutral = 0;     // bits
  std::uint32_t starts_step = 0;
  std::uint32_t places_step = 0;
  std::uint32_t weights_step = 0;
  std::uint32_t x_row = 0;
  std::uint32_t x_column = 0;
  std::uint32_t y_row = 0;
  std::uint32_t y_column = 0;
};

std::string_view name_of(Function function) {
  switch (function) {
    case Function::sum: return "sum";
    case Function::mean: return "mean";
    case Function::max: return "max";
    case Function::min: return "min";
  }
  return "sum";
}

Status check(const Args& args) {
  for (const View* view : {&args.starts, &args.places, &args.x, &args.y}) {
    if (const Status ok = validate(*view, "a tensor of segments"); !ok) return ok;
  }
  const bool weights = !args.weights.given() ||
                       (args.weights.rank == 1 && is_float(args.weights.dtype) &&
                        args.weights.shape[0] == args.places.shape[0] && is_float(args.x.dtype));
  const bool types =
      args.starts.dtype == DType::i32 && args.places.dtype == DType::i32 &&
      (is_float(args.x.dtype) ? args.y.dtype == DType::f32
                              : args.x.dtype == DType::i32 && args.y.dtype == DType::i32 &&
                                    args.function != Function::mean);
  if (!weights || !types || args.starts.rank != 1 || args.places.rank != 1 || args.x.rank != 2 ||
      args.y.rank != 2 || args.x.shape[1] != args.y.shape[1] ||
      args.starts.shape[0] != args.y.shape[0] + 1) {
    return fail(ErrorCode::invalid_argument,
                "Segments need starts i32 [S + 1], places i32 [n], weights [n], rows [R, C] and a "
                "result [S, C] of f32 (i32 for rows of i32); they are {}, {}, {}, {} and {}.",
                describe(args.starts), describe(args.places), describe(args.weights),
                describe(args.x), describe(args.y));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (overlap(args.x, args.y) || overlap(args.starts, args.y) || overlap(args.places, args.y) ||
      overlap(args.weights, args.y)) {
    return fail(ErrorCode::invalid_argument,
                "The result {} of segments shares memory with an input.", describe(args.y));
  }
  return {};
}

/// The bits of the number that changes no result.
std::uint32_t neutral_of(Function function, DType dtype) {
  const bool whole = dtype == DType::i32;
  if (function == Function::max) return whole ? 0x80000000U : 0xff800000U;
  if (function == Function::min) return whole ? 0x7fffffffU : 0x7f800000U;
  return 0;
}

/// Invocations that share a result. Neighbouring columns of a row are read together by invocations
/// of their own; where there are few of them, or too few results for the device, the places of a
/// segment are divided.
std::uint32_t lanes_of(const Args& args, const Caps& caps) {
  const std::uint32_t most = workgroup_width(caps);
  if (args.lanes > 0) return std::min(std::bit_floor(args.lanes), most);
  const std::uint64_t each = args.places.shape[0] / args.y.shape[0];
  const bool full = args.y.count() >= caps.traits.fill(8) * most;
  if (caps.traits.slow_barriers || each < 4 || (full && args.y.shape[1] >= 8)) return 1;
  return static_cast<std::uint32_t>(std::bit_floor(std::min<std::uint64_t>(each / 2, most)));
}

/// Some of the places, and of the rows of x that they may name.
struct Part {
  std::uint64_t first_place = 0;
  std::uint64_t places = 0;
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
};

Status launch(Plan& plan, const Args& args, const Part& part, const Caps& caps) {
  const std::uint64_t all_places = args.places.shape[0];
  const std::uint64_t all_rows = args.x.shape[0];
  const View places = args.places.slice(0, part.first_place, part.places);
  const View x = args.x.slice(0, part.first_row, part.rows);
  Params params;
  params.total = narrow(args.y.count());
  params.columns = narrow(args.y.shape[1]);
  params.all_rows = narrow(all_rows);
  params.first_row = narrow(part.first_row);
  params.rows = narrow(part.rows);
  params.all_places = narrow(all_places);
  params.first_place = narrow(part.first_place);
  params.places = narrow(part.places);
  params.first_rows = part.first_row == 0 ? 1U : 0U;
  params.first = part.first_place == 0 && part.first_row == 0 ? 1U : 0U;
  params.last =
      part.first_place + part.places == all_places && part.first_row + part.rows == all_rows ? 1U
                                                                                             : 0U;
  params.neutral = neutral_of(args.function, args.y.dtype);
  params.starts_step = narrow(args.starts.stride[0]);
  params.places_step = narrow(places.stride[0]);
  params.x_row = narrow(x.stride[0]);
  params.x_column = narrow(x.stride[1]);
  params.y_row = narrow(args.y.stride[0]);
  params.y_column = narrow(args.y.stride[1]);
  Launch launch;
  launch.source = "segments/segments.wgsl";
  launch.label = formatted("segments {} {}", name_of(args.function), name(x.dtype));
  launch.operands = {{.name = "starts", .view = args.starts},
                     {.name = "places", .view = places},
                     {.name = "x", .view = x},
                     {.name = "y", .view = args.y, .access = Access::write}};
  if (args.weights.given()) {
    const View weights = args.weights.slice(0, part.first_place, part.places);
    params.weights_step = narrow(weights.stride[0]);
    launch.operands.push_back({.name = "weights", .view = weights});
  }
  const Variant variant{.domain = name(args.y.dtype),
                        .function = name_of(args.function),
                        .weighted = args.weights.given(),
                        .parts = part.places < all_places || part.rows < all_rows,
                        .lanes = lanes_of(args, caps)};
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  const std::uint64_t each = workgroup_width(caps) / variant.lanes;
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, each), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// As many of the rows (or elements) of a view as fit one binding: at least one is tried.
std::uint64_t rows_that_fit(const View& view, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  std::uint64_t rows = view.shape[0];
  while (rows > 1 && view.slice(0, 0, rows).bytes().size() > budget) rows = half_of(rows);
  return rows;
}

/// Launches for parts of the places and rows, where they do not fit one binding.
Status add_parts(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t all_places = args.places.shape[0];
  const std::uint64_t all_rows = args.x.shape[0];
  const std::uint64_t rows = rows_that_fit(args.x, caps);
  std::uint64_t places = rows_that_fit(args.places, caps);
  if (args.weights.given()) places = std::min(places, rows_that_fit(args.weights, caps));
  Status ok;
  // Nothing at all is one part as well.
  for (std::uint64_t i = 0; ok && (i < all_places || i == 0);
       i += std::max<std::uint64_t>(places, 1)) {
    for (std::uint64_t r = 0; ok && (r < all_rows || r == 0);
         r += std::max<std::uint64_t>(rows, 1)) {
      ok = launch(plan, args,
                  {.first_place = i,
                   .places = std::min(places, all_places - i),
                   .first_row = r,
                   .rows = std::min(rows, all_rows - r)},
                  caps);
    }
  }
  return ok;
}

/// Halves columns or segments until starts, y and a row of x fit one binding.
Status split(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto fits = [&](const View& view) { return view.bytes().size() <= budget; };
  const bool results = fits(args.y) && fits(args.starts) && args.y.count() < (1ULL << 31);
  const bool row = args.x.empty() || fits(args.x.slice(0, 0, 1));
  // The rows of columns that lie one after the other are far apart.
  const bool turned = !fits(args.x) && args.x.stride[1] > args.x.stride[0];
  const bool by_columns = args.y.shape[1] > 1 && (!row || turned || args.y.shape[0] == 1);
  if (results && !(by_columns && (!row || turned))) return add_parts(plan, args, caps);
  const std::uint32_t dim = by_columns ? 1 : 0;
  const std::uint64_t extent = args.y.shape[dim];
  if (extent == 1) {
    return fail(ErrorCode::unsupported,
                "Segments need two neighbouring starts of {} within one binding of the device, {} "
                "bytes.",
                describe(args.starts), budget);
  }
  const std::uint64_t half = half_of(extent);
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    Args part = args;
    part.y = args.y.slice(dim, first, count);
    if (dim == 1) part.x = args.x.slice(1, first, count);
    if (dim == 0) part.starts = args.starts.slice(0, first, count + 1);
    return part;
  };
  return split(plan, cut(0, half), caps).and_then([&] {
    return split(plan, cut(half, extent - half), caps);
  });
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  if (const Status ok = split(plan, args, caps); !ok) {
    return wrap(ok.error(), "planning segments");
  }
  return plan;
}

}  // namespace weft::ops::segments
