#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/problem.hpp"
#include "ops/subgroup.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t rows = 1;
  std::uint32_t subgroup_count = 4;
  std::uint32_t subgroup = 32;     // invocations of one
  std::uint32_t flight = 1;        // keys of an invocation at a time
  std::uint32_t chunks = 1;        // of 32 elements of a key
  std::uint32_t value_lanes = 16;  // that have the 8 columns of a value each
  bool q_vec = false;
  bool y_vec = false;
  bool mask = false;
  bool sinks = false;
  bool lse = false;
  bool partial = false;
};

constexpr std::uint32_t most_rows = 8;

/// Measured on an H200: workgroups of 8 subgroups, two for each processor, whose invocations have
/// one key at a time. Twice as many of half the size were as fast, keys in pairs 2% slower, and 1.2
/// times as many splits 1.2 times slower.
constexpr std::uint32_t subgroups = 8;

/// Rows that share keys: those of the heads of one group.
std::uint64_t group_rows(const Problem& problem) {
  return std::min(problem.head_group, problem.heads()) * problem.queries();
}

std::uint32_t rows_of(const Problem& problem) {
  return narrow(std::min<std::uint64_t>(std::bit_ceil(group_rows(problem)), most_rows));
}

std::uint64_t jobs_of(const Problem& problem) {
  return problem.batches() * problem.k.shape[1] *
         ceil_div<std::uint64_t>(group_rows(problem), rows_of(problem));
}

std::uint32_t value_lanes(const Problem& problem) {
  return narrow(std::max<std::uint64_t>(4, std::bit_ceil(problem.value_size() / 8)));
}

Status can(const Problem& problem, const Caps& caps) {
  const std::uint32_t size = sure_subgroup(caps);
  if (size < 8 || size > 64 || caps.workgroup_invocations < subgroups * size) {
    return fail(
        ErrorCode::unsupported,
        "The kernel for few queries and many keys needs subgroups of one size from 8 to 64, "
        "{} of them in a workgroup; they have {} to {} invocations, and a workgroup {}.",
        subgroups, caps.subgroup_min, caps.subgroup_max, caps.workgroup_invocations);
  }
  if (size_of(problem.k.dtype) != 2 || size_of(problem.v.dtype) != 2 ||
      !rows_aligned(problem.k, 8) || !rows_aligned(problem.v, 8) || problem.size() > 256 ||
      value_lanes(problem) > size || value_lanes(problem) > 32) {
    return fail(ErrorCode::unsupported,
                "The kernel for few queries and many keys takes k and v of 16 bits in aligned rows "
                "of up to 256 elements; k is {} and v is {}.",
                describe(problem.k), describe(problem.v));
  }
  return {};
}

bool worth(const Problem& problem, const Caps& caps) {
  return !caps.traits.slow_barriers && problem.queries() <= 8 && group_rows(problem) <= 32;
}

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  const std::uint64_t groups = jobs_of(problem);
  const std::uint64_t wanted = caps.traits.groups(2);
  if (groups * 2 > wanted) return 1;
  return std::min(wanted / groups, ceil_div(problem.keys(), split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const bool partial = splits.part.given();
  const Variant variant{.rows = rows_of(problem),
                        .subgroup_count = subgroups,
                        .subgroup = sure_subgroup(caps),
                        .chunks = narrow(ceil_div<std::uint64_t>(problem.size(), 32)),
                        .value_lanes = value_lanes(problem),
                        .q_vec = rows_aligned(problem.q, 4),
                        .y_vec = !partial && rows_aligned(problem.y, 4),
                        .mask = problem.mask.given(),
                        .sinks = !partial && problem.sinks.given(),
                        .lse = !partial && problem.lse.given(),
                        .partial = partial};
  Params params = params_of(problem, splits);
  params.blocks = narrow(ceil_div<std::uint64_t>(group_rows(problem), variant.rows));
  const std::uint64_t jobs = jobs_of(problem) * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/stream.wgsl";
  out.label = formatted("attention stream {}", name(problem.k.dtype));
  out.features.subgroups = true;
  out.features.subgroup_size = asked_subgroup(caps, variant.subgroup);
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.params.add("key_heads", narrow(problem.k.shape[1]));
  out.params.add("group_rows", narrow(group_rows(problem)));
  add_operands(out, problem, splits, {.query = 4, .key = 8, .mask = 1});
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

constinit const Kernel stream_kernel{"stream", can, worth, splits, launch};

}  // namespace weft::ops::attention
