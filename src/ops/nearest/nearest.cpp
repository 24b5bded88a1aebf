#include "ops/nearest/nearest.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::nearest {
namespace {

struct TilesVariant {
  std::string_view metric;
  std::uint32_t keep = 1;
  bool after = false;      // only what comes behind the last neighbour so far
  std::uint32_t each = 4;  // rows and columns of an invocation
  std::uint32_t step = 16;
  std::uint32_t queries = 64;  // of a tile
  std::uint32_t points = 64;
};

struct TilesParams {
  std::uint32_t query_count = 0;
  std::uint32_t point_count = 0;
  std::uint32_t size = 0;
  std::uint32_t query_row = 0;
  std::uint32_t query_step = 0;
  std::uint32_t point_row = 0;
  std::uint32_t point_step = 0;
  std::uint32_t tiles = 0;         // of queries
  std::uint32_t ranges = 0;        // of points, in this launch
  std::uint32_t range_length = 0;  // points, whole tiles
  std::uint32_t first_range = 0;
  std::uint32_t all_ranges = 0;
  std::uint32_t first_point = 0;
};

struct JoinVariant {
  std::string_view metric;
  std::uint32_t keep = 1;
  bool last = false;  // writes the last neighbour down
};

struct JoinParams {
  std::uint32_t query_count = 0;
  std::uint32_t all_ranges = 0;
  std::uint32_t wanted = 0;
  std::uint32_t first_wanted = 0;
  std::uint32_t distance_row = 0;
  std::uint32_t distance_step = 0;
  std::uint32_t index_row = 0;
  std::uint32_t index_step = 0;
};

constexpr std::uint32_t across = 16;  // invocations along the points
constexpr std::uint64_t most_ranges = 64;

std::string_view name(Metric metric) {
  switch (metric) {
    case Metric::euclidean: return "euclidean";
    case Metric::cosine: return "cosine";
    case Metric::inner: return "inner";
  }
  return "";
}

Status check(const Args& args) {
  for (const auto& [view, label] :
       {std::pair{&args.queries, "queries"}, std::pair{&args.points, "points"},
        std::pair{&args.distances, "distances"}, std::pair{&args.indices, "indices"}}) {
    if (const Status ok = validate(*view, label); !ok) return ok;
  }
  const View& q = args.queries;
  const View& x = args.points;
  const View& d = args.distances;
  const bool shapes = q.rank == 2 && x.rank == 2 && d.rank == 2 && q.shape[1] == x.shape[1] &&
                      d.shape[0] == q.shape[0] && d.shape[1] > 0 && d.shape[1] <= x.shape[0] &&
                      x.shape[0] < (1ULL << 31) &&
                      std::ranges::equal(d.extents(), args.indices.extents());
  if (!shapes || !is_float(q.dtype) || !is_float(x.dtype) || d.dtype != DType::f32 ||
      args.indices.dtype != DType::i32) {
    return fail(ErrorCode::invalid_argument,
                "nearest needs queries [M, K] and points [N, K] of floats, distances f32 [M, k] "
                "and indices i32 [M, k], with k from 1 to N; the tensors are {}, {}, {} and {}.",
                describe(q), describe(x), describe(d), describe(args.indices));
  }
  for (const View* out : {&d, &args.indices}) {
    if (const Status ok = check_distinct(*out, "an output"); !ok) return ok;
    if (overlap(q, *out) || overlap(x, *out)) {
      return fail(ErrorCode::invalid_argument,
                  "The output {} of nearest shares memory with {} or {}.", describe(*out),
                  describe(q), describe(x));
    }
  }
  if (overlap(d, args.indices)) {
    return fail(ErrorCode::invalid_argument, "The outputs {} and {} of nearest share memory.",
                describe(d), describe(args.indices));
  }
  return {};
}

/// The tile for this device: large ones do more work for each element that they read.
TilesVariant variant_for(const Args& args, const Caps& caps) {
  TilesVariant out{.metric = name(args.metric),
                   .keep = std::bit_ceil(static_cast<std::uint32_t>(
                       std::min(args.distances.shape[1], pass_neighbours)))};
  const bool large = !caps.traits.slow_compile && caps.workgroup_bytes >= 20480 &&
                     args.queries.shape[0] > 64 && args.points.shape[0] > 64;
  if (large) {
    out.each = 8;
    out.step = 8;
  }
  out.queries = workgroup_width(caps) / across * out.each;
  out.points = across * out.each;
  return out;
}

class Planner {
 public:
  Planner(const Args& args, const Caps& caps)
      : args_(args), caps_(caps), variant_(variant_for(args, caps)) {
    const std::uint64_t tiles = ceil_div<std::uint64_t>(rows(), variant_.queries);
    const std::uint64_t point_tiles =
        ceil_div<std::uint64_t>(args.points.shape[0], variant_.points);
    ranges_ = std::clamp<std::uint64_t>(caps.traits.fill(2) / tiles, 1,
                                        std::min(most_ranges, point_tiles));
    // Points that fit one binding, and parts of them that workgroups go through at the same time.
    const std::uint64_t budget = binding_budget(caps);
    piece_ = args.points.shape[0];
    while (piece_ > 1 && args.points.slice(0, 0, piece_).bytes().size() > budget) {
      piece_ = half_of(piece_);
    }
    const std::uint64_t length = ceil_div(std::min(piece_, args.points.shape[0]), ranges_);
    length_ = round_up<std::uint64_t>(length, variant_.points);
    for (std::uint64_t first = 0; first < args.points.shape[0]; first += piece_) {
      all_ranges_ += ceil_div(std::min(piece_, args.points.shape[0] - first), length_);
    }
  }

  /// Whether everything that is read or written for these queries fits bindings, and counts fit 31
  /// bits.
  [[nodiscard]] bool fits() const {
    const std::uint64_t budget = binding_budget(caps_);
    const auto small = [&](const View& view) {
      return view.bytes().size() <= budget && view.bytes().size() / 4 < (1ULL << 31);
    };
    return small(args_.queries) && small(args_.distances) && small(args_.indices) &&
           rows() * all_ranges_ * variant_.keep * 4 <= budget;
  }
  [[nodiscard]] bool point_fits() const {
    return args_.points.slice(0, 0, piece_).bytes().size() <= binding_budget(caps_);
  }

  Status add_to(Plan& plan) const {
    View keys = View::dense(DType::u32, {rows(), all_ranges_, variant_.keep});
    View places = keys;
    keys.slot = plan.add_scratch(round_up<std::uint64_t>(keys.bytes().size(), 16));
    places.slot = plan.add_scratch(round_up<std::uint64_t>(places.bytes().size(), 16));
    const std::uint64_t wanted = args_.distances.shape[1];
    View last;
    if (wanted > pass_neighbours) {
      last = View::dense(DType::u32, {rows(), 2});
      last.slot = plan.add_scratch(round_up<std::uint64_t>(last.bytes().size(), 16));
    }
    for (std::uint64_t done = 0; done < wanted; done += pass_neighbours) {
      std::uint64_t range = 0;
      for (std::uint64_t first = 0; first < args_.points.shape[0]; first += piece_) {
        const std::uint64_t count = std::min(piece_, args_.points.shape[0] - first);
        const View after = done > 0 ? last : View{};
        if (Status ok = add_tiles(plan, first, count, range, keys, places, after); !ok) return ok;
        range += ceil_div(count, length_);
      }
      if (Status ok = add_join(plan, keys, places, last, done); !ok) return ok;
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t rows() const { return args_.queries.shape[0]; }

  Status add_tiles(Plan& plan, std::uint64_t first, std::uint64_t count, std::uint64_t range,
                   const View& keys, const View& places, const View& after) const {
    const View points = args_.points.slice(0, first, count);
    TilesParams params;
    params.query_count = narrow(rows());
    params.point_count = narrow(count);
    params.size = narrow(args_.queries.shape[1]);
    params.query_row = narrow(args_.queries.stride[0]);
    params.query_step = narrow(args_.queries.stride[1]);
    params.point_row = narrow(points.stride[0]);
    params.point_step = narrow(points.stride[1]);
    params.tiles = narrow(ceil_div<std::uint64_t>(rows(), variant_.queries));
    params.ranges = narrow(ceil_div(count, length_));
    params.range_length = narrow(length_);
    params.first_range = narrow(range);
    params.all_ranges = narrow(all_ranges_);
    params.first_point = narrow(first);
    Launch launch;
    launch.source = "nearest/tiles.wgsl";
    launch.label = formatted("nearest {} {}", variant_.metric, weft::name(args_.queries.dtype));
    TilesVariant variant = variant_;
    variant.after = after.given();
    launch.constants = constants_of(variant);
    launch.params = block_of(params);
    launch.operands = {{.name = "queries", .view = args_.queries},
                       {.name = "points", .view = points},
                       {.name = "list_keys", .view = keys, .access = Access::write},
                       {.name = "list_places", .view = places, .access = Access::write}};
    if (after.given()) launch.operands.push_back({.name = "last", .view = after});
    launch.grid = grid_1d(std::uint64_t{params.tiles} * params.ranges, caps_);
    return plan.add(make_dispatch(std::move(launch), caps_));
  }

  Status add_join(Plan& plan, const View& keys, const View& places, const View& last,
                  std::uint64_t done) const {
    JoinParams params;
    params.query_count = narrow(rows());
    params.all_ranges = narrow(all_ranges_);
    params.wanted = narrow(std::min(args_.distances.shape[1] - done, pass_neighbours));
    params.first_wanted = narrow(done);
    params.distance_row = narrow(args_.distances.stride[0]);
    params.distance_step = narrow(args_.distances.stride[1]);
    params.index_row = narrow(args_.indices.stride[0]);
    params.index_step = narrow(args_.indices.stride[1]);
    Launch launch;
    launch.source = "nearest/join.wgsl";
    launch.label = formatted("nearest join {}", variant_.metric);
    launch.constants = constants_of(JoinVariant{variant_.metric, variant_.keep, last.given()});
    launch.params = block_of(params);
    launch.operands = {{.name = "list_keys", .view = keys},
                       {.name = "list_places", .view = places},
                       {.name = "distances", .view = args_.distances, .access = Access::write},
                       {.name = "indices", .view = args_.indices, .access = Access::write}};
    if (last.given()) {
      launch.operands.push_back({.name = "last", .view = last, .access = Access::write});
    }
    launch.grid = grid_1d(ceil_div<std::uint64_t>(rows(), workgroup_width(caps_)), caps_);
    return plan.add(make_dispatch(std::move(launch), caps_));
  }

  const Args& args_;
  const Caps& caps_;
  TilesVariant variant_;
  std::uint64_t ranges_ = 1;
  std::uint64_t piece_ = 0;   // points of a launch
  std::uint64_t length_ = 0;  // points of a range
  std::uint64_t all_ranges_ = 0;
};

/// Halves the queries until everything fits.
Status split(Plan& plan, const Args& args, const Caps& caps) {
  const Planner planner(args, caps);
  if (!planner.point_fits()) {
    return fail(ErrorCode::unsupported,
                "nearest needs a point of {} within one binding of the device, {} bytes.",
                describe(args.points), binding_budget(caps));
  }
  const std::uint64_t count = args.queries.shape[0];
  if (planner.fits()) return planner.add_to(plan);
  if (count == 1) {
    return fail(ErrorCode::unsupported,
                "nearest needs a query of {} and its lists within one binding of the device, {} "
                "bytes.",
                describe(args.queries), binding_budget(caps));
  }
  const std::uint64_t half = half_of(count);
  const auto cut = [&](std::uint64_t first, std::uint64_t rows) {
    Args part = args;
    part.queries = args.queries.slice(0, first, rows);
    part.distances = args.distances.slice(0, first, rows);
    part.indices = args.indices.slice(0, first, rows);
    return part;
  };
  return split(plan, cut(0, half), caps).and_then([&] {
    return split(plan, cut(half, count - half), caps);
  });
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.distances.empty()) return plan;
  if (const Status ok = split(plan, args, caps); !ok) return wrap(ok.error(), "planning nearest");
  return plan;
}

}  // namespace weft::ops::nearest
