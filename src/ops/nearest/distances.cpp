// The distances of all points from all queries.
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/nearest/nearest.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::nearest {
namespace {

struct Variant {
  std::uint32_t each = 4;  // rows and columns of an invocation
  std::uint32_t step = 16;
  std::uint32_t queries = 64;  // of a tile
  std::uint32_t points = 64;
};

struct Params {
  std::uint32_t query_count = 0;
  std::uint32_t point_count = 0;
  std::uint32_t size = 0;
  std::uint32_t query_row = 0;
  std::uint32_t query_step = 0;
  std::uint32_t point_row = 0;
  std::uint32_t point_step = 0;
  std::uint32_t y_row = 0;
  std::uint32_t y_step = 0;
  std::uint32_t tiles = 0;  // of queries
  std::uint32_t point_tiles = 0;
};

constexpr std::uint32_t across = 16;  // invocations along the points

Status check(const DistanceArgs& args) {
  const View& q = args.queries;
  const View& x = args.points;
  for (const auto& [view, label] :
       {std::pair{&q, "queries"}, std::pair{&x, "points"}, std::pair{&args.y, "y"}}) {
    if (const Status ok = validate(*view, label); !ok) return ok;
  }
  const bool shapes = q.rank == 2 && x.rank == 2 && args.y.rank == 2 && q.shape[1] == x.shape[1] &&
                      args.y.shape[0] == q.shape[0] && args.y.shape[1] == x.shape[0];
  if (!shapes || !is_float(q.dtype) || !is_float(x.dtype) || args.y.dtype != DType::f32) {
    return fail(ErrorCode::invalid_argument,
                "Distances need queries [M, K] and points [N, K] of floats and a result f32 [M, "
                "N]; the tensors are {}, {} and {}.",
                describe(q), describe(x), describe(args.y));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (!overlap(q, args.y) && !overlap(x, args.y)) return {};
  return fail(ErrorCode::invalid_argument, "The distances {} share memory with {} or {}.",
              describe(args.y), describe(q), describe(x));
}

Result<Dispatch> launch(const DistanceArgs& args, const Caps& caps) {
  const std::uint64_t rows = args.queries.shape[0];
  const std::uint64_t columns = args.points.shape[0];
  Variant variant;
  if (!caps.traits.slow_compile && caps.workgroup_bytes >= 8192 && rows > 64 && columns > 64) {
    variant.each = 8;
    variant.step = 8;
  }
  variant.queries = workgroup_width(caps) / across * variant.each;
  variant.points = across * variant.each;
  Params params;
  params.query_count = narrow(rows);
  params.point_count = narrow(columns);
  params.size = narrow(args.queries.shape[1]);
  params.query_row = narrow(args.queries.stride[0]);
  params.query_step = narrow(args.queries.stride[1]);
  params.point_row = narrow(args.points.stride[0]);
  params.point_step = narrow(args.points.stride[1]);
  params.y_row = narrow(args.y.stride[0]);
  params.y_step = narrow(args.y.stride[1]);
  params.tiles = narrow(ceil_div<std::uint64_t>(rows, variant.queries));
  params.point_tiles = narrow(ceil_div<std::uint64_t>(columns, variant.points));
  Launch out;
  out.source = "nearest/distances.wgsl";
  out.label = formatted("distances {}", name(args.queries.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands = {{.name = "queries", .view = args.queries},
                  {.name = "points", .view = args.points},
                  {.name = "y", .view = args.y, .access = Access::write}};
  out.grid = grid_1d(std::uint64_t{params.tiles} * params.point_tiles, caps);
  return make_dispatch(std::move(out), caps);
}

/// Halves the queries or the points until everything fits bindings.
Status split(Plan& plan, const DistanceArgs& args, const Caps& caps) {
  const auto fits = [&](const View& view) {
    return view.bytes().size() <= binding_budget(caps) &&
           view.bytes().size() / size_of(view.dtype) < (1ULL << 31U);
  };
  const std::uint64_t rows = args.queries.shape[0];
  const std::uint64_t columns = args.points.shape[0];
  if (fits(args.queries) && fits(args.points) && fits(args.y)) {
    return plan.add(launch(args, caps));
  }
  const bool along_rows =
      rows > 1 && (!fits(args.queries) || (fits(args.points) && (columns == 1 || rows >= columns)));
  const std::uint64_t count = along_rows ? rows : columns;
  if (count <= 1) {
    return fail(ErrorCode::unsupported,
                "Distances need a row of {} and of {} within one binding of the device, {} bytes.",
                describe(args.queries), describe(args.points), binding_budget(caps));
  }
  const auto cut = [&](std::uint64_t first, std::uint64_t some) {
    DistanceArgs part = args;
    View& in = along_rows ? part.queries : part.points;
    in = in.slice(0, first, some);
    part.y = args.y.slice(along_rows ? 0 : 1, first, some);
    return part;
  };
  const std::uint64_t half = half_of(count);
  return split(plan, cut(0, half), caps).and_then([&] {
    return split(plan, cut(half, count - half), caps);
  });
}

}  // namespace

Result<Plan> plan(const DistanceArgs& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  if (const Status ok = split(plan, args, caps); !ok) return wrap(ok.error(), "planning distances");
  return plan;
}

}  // namespace weft::ops::nearest
