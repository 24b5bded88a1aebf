#include "ops/border/border.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::border {
namespace {

struct Variant {
  std::string_view mode;
  std::uint32_t rank = 1;
  std::uint32_t chunk = 1;
  std::uint32_t items = 1;  // chunks per invocation
};

struct Params {
  std::uint32_t total = 0;
  std::uint32_t value = 0;                     // bits of the type that elements have in registers
  std::array<std::int32_t, max_rank> first{};  // where this part of y begins in the whole
  std::array<std::int32_t, max_rank> low{};
  std::array<std::int32_t, max_rank> size{};  // extents of x
  std::array<std::uint32_t, max_rank> out{};  // extents of y
  std::array<std::uint32_t, max_rank> x{};
  std::array<std::uint32_t, max_rank> y{};
};

constexpr std::int64_t most = 1LL << 29;  // keeps sums and doubled extents within 32 bits

/// What a launch does, apart from its views.
struct Job {
  Mode mode = Mode::value;
  bool band = false;  // A band of x, and `value` elsewhere.
  std::array<std::int64_t, max_rank> low{};
  double value = 0;
};

/// A part of y with where it begins, and the part of x that it reads.
struct Part {
  View x;
  View y;
  std::array<std::int64_t, max_rank> first{};
};

std::string_view name_of(const Job& job) { return job.band ? "band" : name(job.mode); }

std::uint32_t bits_of(double value, DType type) {
  if (is_float(type)) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == DType::u32) return static_cast<std::uint32_t>(std::clamp(value, 0.0, 4294967295.0));
  return static_cast<std::uint32_t>(
      static_cast<std::int32_t>(std::clamp(value, -2147483648.0, 2147483647.0)));
}

Status launch_part(Plan& plan, const Job& job, const Part& part, const Caps& caps) {
  const View& y = part.y;
  const std::uint32_t inner = y.rank - 1;
  Variant variant{.mode = name_of(job), .rank = y.rank};
  Access access = Access::write;
  if (size_of(y.dtype) < 4) {
    bool even = y.shape[inner] % 2 == 0 && y.stride[inner] == 1 && y.offset % 4 == 0;
    for (std::uint32_t i = 0; i < inner; ++i)
      even = even && (y.shape[i] == 1 || y.stride[i] % 2 == 0);
    if (even) {
      variant.chunk = 2;
    } else {
      access = Access::atomic;
    }
  }
  // Some devices spend more time on starting an invocation than on an element.
  for (const std::uint32_t items : {8U, 4U, 2U}) {
    if (caps.traits.items == 1 || size_of(y.dtype) < 4 || y.shape[inner] % items != 0) continue;
    variant.items = items;
    break;
  }
  Params params;
  params.total = narrow(y.count() / (std::uint64_t{variant.chunk} * variant.items));
  params.value = bits_of(job.value, y.dtype);
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    params.first[i] = static_cast<std::int32_t>(part.first[i]);
    params.low[i] = static_cast<std::int32_t>(job.low[i]);
    params.size[i] = static_cast<std::int32_t>(part.x.shape[i]);
    params.out[i] = narrow(y.shape[i]);
    params.x[i] = narrow(part.x.stride[i]);
    params.y[i] = narrow(y.stride[i]);
  }
  // Only the difference between the last two places counts for a band.
  if (job.band)
    params.first[0] = static_cast<std::int32_t>(part.first[inner - 1] - part.first[inner]);
  Launch launch;
  launch.source = "border/border.wgsl";
  launch.label = formatted("border {} {}", name_of(job), name(y.dtype));
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.operands = {{"x", part.x}, {"y", y, access}};
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// True when y and x have the same places along a dimension, so that both can be cut.
bool goes_along(const Job& job, const View& x, const View& y, std::uint32_t dim) {
  return job.band || (job.low[dim] == 0 && x.shape[dim] == y.shape[dim]);
}

Status split(Plan& plan, const Job& job, const Part& part, const Caps& caps);

/// Elements of y in a row that come from elements of x in a row: forwards (step 1), backwards (-1),
/// or all from one (0).
struct Run {
  std::int64_t from = 0;  ///< Where the first of them comes from.
  std::int64_t step = 0;
  std::uint64_t count = 1;
};

/// The run at a place of the extended x, which has `size` elements from 0 on.
Run run_at(Mode mode, std::int64_t at, std::int64_t size) {
  constexpr std::uint64_t endless = 1ULL << 62;
  const auto count = [](std::int64_t length) { return static_cast<std::uint64_t>(length); };
  if (size == 1) return {0, 0, endless};
  if (mode == Mode::replicate) {
    if (at < 0) return {0, 0, count(1 - at)};
    if (at < size - 1) return {at, 1, count(size - at)};
    return {size - 1, 0, endless};
  }
  const std::int64_t period = mode == Mode::circular ? size : 2 * size - 2;
  const std::int64_t within = ((at % period) + period) % period;
  if (mode == Mode::circular || within < size - 1) return {within, 1, count(size - within)};
  return {period - within, -1, count(period - within + 1)};
}

/// Cuts a dimension where y does not go along with x into runs.
Status split_runs(Plan& plan, const Job& job, const Part& part, std::uint32_t dim,
                  const Caps& caps) {
  constexpr std::uint64_t most_runs = 4096;
  const auto size = static_cast<std::int64_t>(part.x.shape[dim]);
  const auto start = part.first[dim] - job.low[dim];
  // A run backwards stays one: with so few bytes along each dimension x fits a binding.
  const std::uint64_t most_backwards = std::max<std::uint64_t>(
      1, binding_budget(caps) / max_rank / (part.x.stride[dim] * size_of(part.x.dtype)));
  std::uint64_t runs = 0;
  for (std::uint64_t at = 0; at < part.y.shape[dim];) {
    Run run = run_at(job.mode, start + static_cast<std::int64_t>(at), size);
    run.count = std::min(run.count, part.y.shape[dim] - at);
    if (run.step < 0) run.count = std::min(run.count, most_backwards);
    if (++runs > most_runs) {
      return fail(
          ErrorCode::unsupported,
          "{} is moved along dimension {} in more than {} parts, because it needs more than "
          "the {} bytes that this device binds.",
          describe(part.x), dim, most_runs, caps.max_binding);
    }
    Job one = job;
    one.low[dim] = 0;
    Part cut = part;
    cut.y = part.y.slice(dim, at, run.count);
    cut.first[dim] = 0;
    const auto from = static_cast<std::uint64_t>(run.from);
    if (run.step == 0) {
      cut.x = part.x.slice(dim, from, 1);
      cut.x.shape[dim] = run.count;
      cut.x.stride[dim] = 0;
    } else if (run.step > 0 || run.count == 1) {
      cut.x = part.x.slice(dim, from, run.count);
    } else {
      // Mirrored at its last element, which is where this part of y begins.
      cut.x = part.x.slice(dim, from + 1 - run.count, run.count);
      one.low[dim] = -static_cast<std::int64_t>(run.count - 1);
    }
    if (const Status ok = split(plan, one, cut, caps); !ok) return ok;
    at += run.count;
  }
  return {};
}

/// Cuts y, and x where it goes along, until both fit a binding.
Status split(Plan& plan, const Job& job, const Part& part, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const bool wide_x = part.x.bytes().size() > budget;
  const bool small = !wide_x && part.y.bytes().size() <= budget && part.y.count() < (1ULL << 31);
  if (small) return launch_part(plan, job, part, caps);
  std::uint32_t dim = part.y.rank;
  std::uint64_t widest = 0;
  for (std::uint32_t i = 0; i < part.y.rank; ++i) {
    const std::uint64_t spread = wide_x ? part.x.stride[i] * (part.x.shape[i] - 1)
                                        : part.y.stride[i] * (part.y.shape[i] - 1);
    if (part.y.shape[i] < 2 || spread <= widest) continue;
    if (wide_x && !goes_along(job, part.x, part.y, i)) continue;
    std::tie(dim, widest) = std::tuple{i, spread};
  }
  if (dim == part.y.rank && wide_x && (job.band || job.mode != Mode::value)) {
    std::uint64_t spread = 0;
    for (std::uint32_t i = 0; i < part.y.rank; ++i) {
      const std::uint64_t mine = part.x.stride[i] * (part.x.shape[i] - 1);
      if (goes_along(job, part.x, part.y, i) || mine <= spread) continue;
      std::tie(dim, spread) = std::tuple{i, mine};
    }
    if (dim < part.y.rank) return split_runs(plan, job, part, dim, caps);
  }
  if (dim == part.y.rank) {
    return fail(ErrorCode::unsupported,
                "{} is moved along dimensions that need more than the {} bytes that this device "
                "binds.",
                describe(part.x), caps.max_binding);
  }
  const bool along = goes_along(job, part.x, part.y, dim);
  const std::uint64_t half = half_of(part.y.shape[dim]);
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    Part out = part;
    out.y = part.y.slice(dim, first, count);
    if (along) out.x = part.x.slice(dim, first, count);
    if (!along || job.band) out.first[dim] += static_cast<std::int64_t>(first);
    return out;
  };
  return split(plan, job, cut(0, half), caps).and_then([&] {
    return split(plan, job, cut(half, part.y.shape[dim] - half), caps);
  });
}

Status check(std::string_view op, const View& x, const View& y) {
  if (const Status ok = validate(x, "x"); !ok) return ok;
  if (const Status ok = validate(y, "y"); !ok) return ok;
  const bool known = is_float(x.dtype) || x.dtype == DType::i32 || x.dtype == DType::u32;
  if (x.rank != y.rank || x.rank == 0 || x.dtype != y.dtype || !known) {
    return fail(ErrorCode::invalid_argument,
                "{} needs tensors of the same rank and type, of f32, f16, bf16, i32 or u32; they "
                "are {} and {}.",
                op, describe(x), describe(y));
  }
  if (const Status ok = check_distinct(y, "y"); !ok) return ok;
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    if (static_cast<std::int64_t>(std::max(x.shape[i], y.shape[i])) > most) {
      return fail(ErrorCode::unsupported, "{} takes extents up to {}; the tensors are {} and {}.",
                  op, most, describe(x), describe(y));
    }
  }
  return {};
}

Result<Plan> finish(const Job& job, const View& x, const View& y, const Caps& caps) {
  Plan plan;
  if (const Status ok = split(plan, job, {.x = x, .y = y}, caps); !ok)
    return wrap(ok.error(), "planning a border");
  return plan;
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  const View& x = args.x;
  const View& y = args.y;
  if (const Status ok = check("A border", x, y); !ok) return std::unexpected(ok.error());
  Job job{.mode = args.mode, .value = args.value};
  if (args.low.size() != x.rank ||
      !std::ranges::all_of(args.low, [](std::int64_t v) { return v >= -most && v <= most; })) {
    return fail(ErrorCode::invalid_argument,
                "A border of {} needs {} distances of at most {}; there are {}.", describe(x),
                x.rank, most, args.low.size());
  }
  std::ranges::copy(args.low, job.low.begin());
  if (y.empty()) return Plan{};
  if (x.empty()) {
    if (args.mode == Mode::value)
      return map::plan({.function = "fill", .y = y, .scalars = {args.value}}, caps);
    return fail(ErrorCode::invalid_argument, "There is nothing in {} to put into {}.", describe(x),
                describe(y));
  }
  if (overlap(x, y)) {
    return fail(ErrorCode::invalid_argument, "The output {} shares memory with the input {}.",
                describe(y), describe(x));
  }
  return finish(job, x, y, caps);
}

Result<Plan> plan(const BandArgs& args, const Caps& caps) {
  if (const Status ok = check("A band", args.x, args.y); !ok) return std::unexpected(ok.error());
  if (args.x.rank < 2 || !std::ranges::equal(args.x.extents(), args.y.extents())) {
    return fail(ErrorCode::invalid_argument,
                "A band needs matrices of the same shape; they are {} and {}.", describe(args.x),
                describe(args.y));
  }
  if (args.y.empty()) return Plan{};
  const bool same = args.x.offset == args.y.offset && args.x.stride == args.y.stride;
  if (overlap(args.x, args.y) && !same) {
    return fail(ErrorCode::invalid_argument,
                "The output {} of a band shares memory with the input {}.", describe(args.y),
                describe(args.x));
  }
  Job job{.band = true, .value = args.value};
  job.low[0] = std::clamp(args.low, -most, most);
  job.low[1] = std::clamp(args.high, -most, most);
  return finish(job, args.x, args.y, caps);
}

}  // namespace weft::ops::border
