#include "ops/cumsum/cumsum.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/cumsum/shape.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::cumsum {
namespace {

/// What a launch writes: y, or only the total of each segment.
enum class Pass : std::uint8_t { scan, sums };
constexpr std::string_view name(Pass pass) { return pass == Pass::scan ? "scan" : "sums"; }

struct Variant {
  DType domain = DType::f32;
  std::string_view mode;  // the name of a Pass
  std::string_view combine = "sum";
  bool exclusive = false;
  bool reverse = false;
  bool carried = false;  // segments start from the sums of those before them
  std::uint32_t kept_rank = 1;
  std::uint32_t chunk = 1;   // rows: neighbours along the scan; columns: neighbours across it
  std::uint32_t size = 256;  // rows: invocations per workgroup
  std::uint32_t lanes = 1;   // rows: invocations per row
  bool shuffle = false;      // rows: use subgroup operations
  bool tail = false;         // rows: the last chunk in memory is partial
};

struct Params {
  std::uint32_t groups = 0;         // rows: workgroups with work
  std::uint32_t rows = 0;           // sequences to sum (columns: chunks of them)
  std::uint32_t count = 0;          // elements of a sequence
  std::uint32_t chunks = 0;         // the same in chunks (rows only; the last one may be partial)
  std::uint32_t span = 0;           // chunks (columns: elements) per segment
  std::uint32_t segments = 1;       // in this launch
  std::uint32_t first_segment = 0;  // of this launch, in the direction of the sum
  std::uint32_t first_element = 0;  // where x and y are bound along the sequence
  std::uint32_t sum_row = 0;        // steps in the table of segment sums
  std::uint32_t sum_segment = 0;
  std::uint32_t scan_x = 0;  // steps along the sequence
  std::uint32_t scan_y = 0;
  std::array<std::uint32_t, max_rank> kept_shape{};
  std::array<std::uint32_t, max_rank> kept_x{};
  std::array<std::uint32_t, max_rank> kept_y{};
};

/// Launches segments [first, last) of every sequence; `sums` is the table of segment sums where
/// there is one.
Status launch_segments(Plan& plan, const Job& job, const Shape& shape, Pass pass,
                       std::uint64_t first, std::uint64_t last, const View& sums,
                       const Caps& caps) {
  const View& x = job.kept[0];
  const View& y = job.kept[1];
  const bool scan = pass == Pass::scan;
  const std::uint64_t rows = x.count();
  Variant variant{.domain = job.domain,
                  .mode = name(pass),
                  .combine = name(job.function),
                  .exclusive = scan && job.exclusive,
                  .reverse = job.reverse,
                  .carried = scan && sums.given(),
                  .kept_rank = x.rank,
                  .chunk = shape.chunk};
  Params params;
  params.rows = narrow(shape.by_rows ? rows : rows / shape.chunk);
  params.count = narrow(job.count);
  params.chunks = narrow(ceil_div<std::uint64_t>(job.count, shape.chunk));
  params.span = narrow(shape.span);
  params.segments = narrow(last - first);
  params.first_segment = narrow(first);
  params.scan_x = narrow(job.scan_x);
  params.scan_y = narrow(job.scan_y);
  for (std::uint32_t i = 0; i < x.rank; ++i) {
    params.kept_shape[i] = narrow(x.shape[i]);
    params.kept_x[i] = narrow(x.stride[i]);
    params.kept_y[i] = narrow(y.stride[i]);
  }
  if (!shape.by_rows) params.kept_shape[x.rank - 1] /= shape.chunk;
  // The elements of these segments, wherever the sum starts.
  const std::uint64_t unit = shape.by_rows ? shape.chunk : 1;
  const std::uint64_t units = ceil_div(job.count, unit);
  const std::uint64_t ahead = std::min(units, first * shape.span);
  const std::uint64_t behind = std::min(units, last * shape.span);
  const std::uint64_t low = (job.reverse ? units - behind : ahead) * unit;
  const std::uint64_t high = std::min(job.count, (job.reverse ? units - ahead : behind) * unit);
  params.first_element = narrow(low);

  Launch launch;
  const auto words = [&](const View& view) {
    return std::clamp(shape.chunk * size_of(view.dtype) / 4, 1U, 4U);
  };
  launch.operands.push_back({.name = "x", .view = job.part(0, low, high), .unit = words(x)});
  if (scan) {
    const bool shares_words = size_of(y.dtype) < 4 && shape.chunk == 1;
    launch.operands.push_back({.name = "y",
                               .view = job.part(1, low, high),
                               .access = shares_words ? Access::atomic : Access::write,
                               .unit = words(y)});
  }
  if (sums.given()) {
    params.sum_row = narrow(sums.stride[shape.by_rows ? 0 : 1]);
    params.sum_segment = narrow(sums.stride[shape.by_rows ? 1 : 0]);
    launch.operands.push_back(
        {.name = "sums", .view = sums, .access = scan ? Access::read : Access::write});
  }
  if (shape.by_rows) {
    variant.lanes = shape.lanes;
    variant.size = shape.size;
    variant.tail = job.count % shape.chunk != 0;
    variant.shuffle = caps.subgroups && job.function == Function::sum && shape.lanes > 1 &&
                      (shape.lanes == workgroup_width(caps) || shape.lanes <= caps.subgroup_min);
    launch.features.subgroups = variant.shuffle;
    const std::uint64_t at_once = shape.size / shape.lanes;
    params.groups = narrow(shape.lanes == 1 ? ceil_div(rows * params.segments, at_once)
                                            : ceil_div(rows, at_once) * params.segments);
    launch.grid = grid_1d(params.groups, caps);
  } else {
    params.groups = narrow(ceil_div<std::uint64_t>(std::uint64_t{params.rows} * params.segments,
                                                   workgroup_width(caps)));
    launch.grid = grid_1d(params.groups, caps);
  }
  launch.source = shape.by_rows ? "cumsum/rows.wgsl" : "cumsum/columns.wgsl";
  launch.label = formatted("cumsum {} {}", name(pass), name(x.dtype));
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  return plan.add(make_dispatch(std::move(launch), caps));
}

Status emit(Plan& plan, Job job, const Caps& caps);

/// Both halves of the sequences, along a dimension.
Status emit_halves(Plan& plan, const Job& job, std::uint32_t dim, const Caps& caps) {
  const std::uint64_t extent = job.kept[0].shape[dim];
  const std::uint64_t half = extent >= 16 ? round_down<std::uint64_t>(extent / 2, 8) : extent / 2;
  Job front = job;
  Job back = job;
  for (View& view : front.kept) view = view.slice(dim, 0, half);
  for (View& view : back.kept) view = view.slice(dim, half, extent - half);
  if (const Status ok = emit(plan, front, caps); !ok) return ok;
  return emit(plan, back, caps);
}

Status emit(Plan& plan, Job job, const Caps& caps) {
  collapse(job.kept);
  const std::uint64_t budget = binding_budget(caps);
  // Sequences are independent: split between them where that is what makes a view large.
  const bool too_many = job.kept[0].count() * job.count >= (1ULL << 31);
  for (std::size_t k = 0; k < 2; ++k) {
    if (job.part(k, 0, job.count).bytes().size() <= budget && !too_many) continue;
    std::uint32_t dim = 0;
    std::uint64_t widest = 0;
    for (std::uint32_t i = 0; i < job.kept[k].rank; ++i) {
      const std::uint64_t spread = (job.kept[k].shape[i] - 1) * job.kept[k].stride[i];
      if (spread > widest) std::tie(dim, widest) = std::tuple{i, spread};
    }
    // One element of each sequence has to fit with room to spare, however far apart the next ones
    // are.
    const bool across = job.kept[k].bytes().size() > budget / 2;
    const bool along = widest < (job.count - 1) * (k == 0 ? job.scan_x : job.scan_y);
    if (widest == 0 || (along && !across)) continue;
    return emit_halves(plan, job, dim, caps);
  }
  if (too_many) {
    return fail(
        ErrorCode::unsupported,
        "cumsum of {} sequences of {} elements has no dimension along which it can be split.",
        job.kept[0].count(), job.count);
  }

  const auto chosen = choose_shape(job, budget, caps);
  if (!chosen) return std::unexpected(chosen.error());
  const Shape& shape = *chosen;
  const std::uint64_t rows = job.kept[0].count();
  if (shape.segments > 1 && rows > 1 && rows * shape.segments * 4 > budget) {
    const auto extents = job.kept[0].extents();
    const auto longest = std::ranges::max_element(extents) - extents.begin();
    return emit_halves(plan, job, static_cast<std::uint32_t>(longest), caps);
  }
  if (shape.segments == 1) return launch_segments(plan, job, shape, Pass::scan, 0, 1, {}, caps);
  // Sums of the segments, running sums of those, and then every segment on top of the ones before
  // it.
  View sums = shape.by_rows ? View::dense(job.domain, {rows, shape.segments})
                            : View::dense(job.domain, {shape.segments, rows});
  sums.slot = plan.add_scratch(round_up<std::uint64_t>(sums.bytes().size(), 16));
  const auto all_segments = [&](Pass pass) -> Status {
    // As many segments per launch as the bindings hold.
    const std::uint64_t length = shape.span * (shape.by_rows ? shape.chunk : 1);
    std::uint64_t most = shape.segments;
    for (std::size_t k = 0; k < 2; ++k) {
      while (most > 1 && job.part(k, 0, std::min(job.count, most * length)).bytes().size() > budget)
        --most;
    }
    for (std::uint64_t s = 0; s < shape.segments; s += most) {
      const std::uint64_t last = std::min(shape.segments, s + most);
      if (const Status ok = launch_segments(plan, job, shape, pass, s, last, sums, caps); !ok)
        return ok;
    }
    return {};
  };
  if (const Status ok = all_segments(Pass::sums); !ok) return ok;
  View other = sums;
  other.rank = 1;
  other.shape[0] = rows;
  other.stride[0] = sums.stride[shape.by_rows ? 0 : 1];
  const std::uint64_t step = sums.stride[shape.by_rows ? 1 : 0];
  const Job of_sums{.kept = {other, other},
                    .count = shape.segments,
                    .scan_x = step,
                    .scan_y = step,
                    .domain = job.domain,
                    .function = job.function,
                    .exclusive = true,
                    .reverse = false};
  if (const Status ok = emit(plan, of_sums, caps); !ok) return ok;
  return all_segments(Pass::scan);
}

bool supported(DType type) { return is_float(type) || type == DType::i32 || type == DType::u32; }

Status check(const Args& args) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (!supported(args.x.dtype) || !supported(args.y.dtype) ||
      (is_float(args.x.dtype) && !is_float(args.y.dtype))) {
    return fail(ErrorCode::unsupported, "cumsum does not turn {} into {}.", name(args.x.dtype),
                name(args.y.dtype));
  }
  if (args.function == Function::logsumexp && !is_float(args.x.dtype)) {
    return fail(ErrorCode::unsupported, "Running sums of exponentials need floats; x is {}.",
                describe(args.x));
  }
  if (!std::ranges::equal(args.x.extents(), args.y.extents())) {
    return fail(ErrorCode::invalid_argument, "cumsum needs an output of the shape of {}; it is {}.",
                describe(args.x), describe(args.y));
  }
  if (args.axis >= args.x.rank) {
    return fail(ErrorCode::invalid_argument, "cumsum along dimension {} of {}: there is none.",
                args.axis, describe(args.x));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  bool same = args.x.offset == args.y.offset && args.x.dtype == args.y.dtype;
  for (std::uint32_t i = 0; i < args.y.rank; ++i) {
    same = same && (args.x.shape[i] == 1 || args.x.stride[i] == args.y.stride[i]);
  }
  if (overlap(args.x, args.y) && !same) {
    return fail(ErrorCode::invalid_argument,
                "The output {} of cumsum overlaps its input {} without being the same view.",
                describe(args.y), describe(args.x));
  }
  return {};
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.x.empty()) return plan;
  Job job{.kept = {args.x, args.y},
          .count = args.x.shape[args.axis],
          .scan_x = args.x.stride[args.axis],
          .scan_y = args.y.stride[args.axis],
          .domain = is_float(args.x.dtype) ? DType::f32 : args.x.dtype,
          .function = args.function,
          .exclusive = args.exclusive,
          .reverse = args.reverse};
  for (View& view : job.kept) view.shape[args.axis] = 1;
  if (const Status ok = emit(plan, job, caps); !ok) return wrap(ok.error(), "planning cumsum");
  return plan;
}

}  // namespace weft::ops::cumsum
