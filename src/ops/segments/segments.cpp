#include "ops/segments/segments.hpp"

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
};

struct Params {
  std::uint32_t total = 0;
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;   // of x
  std::uint32_t count = 0;  // places
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

Status launch(Plan& plan, const Args& args, const Caps& caps) {
  Params params;
  params.total = narrow(args.y.count());
  params.columns = narrow(args.y.shape[1]);
  params.rows = narrow(args.x.shape[0]);
  params.count = narrow(args.places.shape[0]);
  params.starts_step = narrow(args.starts.stride[0]);
  params.places_step = narrow(args.places.stride[0]);
  params.x_row = narrow(args.x.stride[0]);
  params.x_column = narrow(args.x.stride[1]);
  params.y_row = narrow(args.y.stride[0]);
  params.y_column = narrow(args.y.stride[1]);
  Launch launch;
  launch.source = "segments/segments.wgsl";
  launch.label = formatted("segments {} {}", name_of(args.function), name(args.x.dtype));
  launch.operands = {{.name = "starts", .view = args.starts},
                     {.name = "places", .view = args.places},
                     {.name = "x", .view = args.x},
                     {.name = "y", .view = args.y, .access = Access::write}};
  if (args.weights.given()) {
    params.weights_step = narrow(args.weights.stride[0]);
    launch.operands.push_back({.name = "weights", .view = args.weights});
  }
  launch.constants = constants_of(Variant{.domain = name(args.y.dtype),
                                          .function = name_of(args.function),
                                          .weighted = args.weights.given()});
  launch.params = block_of(params);
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// Halves columns, and then segments, until x and y fit one binding.
Status split(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto fits = [&](const View& view) { return view.bytes().size() <= budget; };
  if (fits(args.x) && fits(args.y) && fits(args.starts) && fits(args.places) &&
      (!args.weights.given() || fits(args.weights)) && args.y.count() < (1ULL << 31)) {
    return launch(plan, args, caps);
  }
  // Columns of rows that lie one after the other save nothing: copies that are dense would be
  // needed.
  const bool by_columns = args.y.shape[1] > 1 && !fits(args.x);
  const std::uint32_t dim = by_columns ? 1 : 0;
  const std::uint64_t extent = args.y.shape[dim];
  if (extent == 1 || (!by_columns && (!fits(args.x) || !fits(args.places)))) {
    return fail(ErrorCode::unsupported,
                "Segments need rows {} and places {} within one binding of the device, {} bytes.",
                describe(args.x), describe(args.places), budget);
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
