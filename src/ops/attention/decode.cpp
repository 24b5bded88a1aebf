#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/problem.hpp"

namespace weft::ops::attention {
namespace {

/// As many lanes as 16 keys have, eight each.
constexpr std::uint32_t decode_workgroup = 128;

struct Variant {
  std::uint32_t rows = 1;
  bool shuffle = false;
  std::uint32_t flight = 2;  // loads of an invocation at a time
  bool ahead = false;
  std::uint32_t held = 0;  // parts of 64 elements of q that invocations hold
  bool turned = false;
  std::uint32_t rounds = 0;  // of 16 columns of turned values
  bool q_vec = false;
  bool vec = false;
  bool y_vec = false;
  bool mask = false;
  bool sinks = false;
  bool lse = false;
  bool partial = false;
  std::uint32_t workgroup = decode_workgroup;
};

/// Floats that the rows of q have in workgroup memory.
constexpr std::uint64_t q_floats = 2304;

/// Rows that share keys: those of the heads of one group.
std::uint64_t group_rows(const Problem& problem) {
  return std::min(problem.head_group, problem.heads()) * problem.queries();
}

/// Workgroups of so many rows each, without splits.
std::uint64_t jobs_with(const Problem& problem, std::uint64_t rows) {
  return problem.batches() * problem.k.shape[1] * ceil_div(group_rows(problem), rows);
}

/// Software devices compile large kernels for seconds. A workgroup that has more rows reads keys
/// and values once for all of them and takes longer (on an H200 13 µs with 8 rows of 64 keys, 7
/// with one), which pays only where there are keys enough for the whole device.
std::uint32_t rows_of(const Problem& problem, const Caps& caps) {
  const std::uint64_t fit = q_floats / round_up<std::uint64_t>(problem.size(), 8);
  std::uint64_t rows = std::min({std::bit_ceil(group_rows(problem)), std::bit_floor(fit),
                                 std::uint64_t{caps.traits.slow_compile ? 4U : 8U}});
  const std::uint64_t most_splits = ceil_div(problem.keys(), split_step);
  while (caps.traits.overlaps && rows > 1 &&
         jobs_with(problem, rows) * most_splits < busy_workgroups(caps)) {
    rows /= 2;
  }
  return narrow(rows);
}

/// Parts of 64 elements of q that invocations hold; 0 where they would be too many.
std::uint32_t held_of(const Problem& problem, const Caps& caps) {
  const std::uint64_t parts = ceil_div<std::uint64_t>(problem.size(), 64);
  return !caps.traits.near_memory && parts * rows_of(problem, caps) <= 4 ? narrow(parts) : 0;
}

/// Whether the keys of a column of values are neighbours, as in caches for products without this
/// kernel, and can be read eight at a time.
bool values_turned(const Problem& problem) {
  return problem.v.stride[3] != 1 && problem.value_size() % 16 == 0 &&
         problem.value_size() <= 128 && rows_aligned(problem.v.transpose(2, 3), 8);
}

Status can(const Problem& problem, const Caps& caps) {
  if (problem.size() > 1024 || problem.value_size() > 1024 ||
      caps.workgroup_invocations < decode_workgroup) {
    return fail(ErrorCode::unsupported,
                "The kernel for few queries takes heads of up to 1024 elements and workgroups of "
                "{} invocations; q is {}, v is {}, and this device has {}.",
                decode_workgroup, describe(problem.q), describe(problem.v),
                caps.workgroup_invocations);
  }
  return {};
}

bool worth(const Problem& problem, const Caps&) {
  return problem.queries() <= 8 && group_rows(problem) <= 32;
}

std::uint64_t jobs_of(const Problem& problem, const Caps& caps) {
  return jobs_with(problem, rows_of(problem, caps));
}

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  const std::uint64_t groups = jobs_of(problem, caps);
  const std::uint64_t wanted = busy_workgroups(caps);
  if (groups * 2 > wanted) return 1;
  return std::min(wanted / groups, ceil_div(problem.keys(), split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const bool partial = splits.part.given();
  const bool turned = values_turned(problem);
  const Variant variant{.rows = rows_of(problem, caps),
                        .shuffle = caps.subgroups && caps.subgroup_min >= 8,
                        .flight = caps.traits.slow_compile ? 2U : 4U,
                        .ahead = !caps.traits.slow_compile,
                        .held = held_of(problem, caps),
                        .turned = turned,
                        .rounds = turned ? narrow(problem.value_size() / 16) : 0,
                        .q_vec = rows_aligned(problem.q, 4),
                        .vec = rows_aligned(problem.k, 8) && (turned || rows_aligned(problem.v, 8)),
                        .y_vec = !partial && rows_aligned(problem.y, 4),
                        .mask = problem.mask.given(),
                        .sinks = !partial && problem.sinks.given(),
                        .lse = !partial && problem.lse.given(),
                        .partial = partial};
  Params params = params_of(problem, splits);
  params.blocks = narrow(ceil_div<std::uint64_t>(group_rows(problem), variant.rows));
  const std::uint64_t jobs = jobs_of(problem, caps) * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/decode.wgsl";
  out.label = formatted("attention decode {}", name(problem.k.dtype));
  out.features.subgroups = variant.shuffle;
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.params.add("key_heads", narrow(problem.k.shape[1]));
  out.params.add("group_rows", narrow(group_rows(problem)));
  add_operands(out, problem, splits, {.query = 4, .key = 8, .mask = 1});
  for (Operand& operand : out.operands) {
    if (turned && operand.name == "v") {
      operand = operand_of("v", problem.v.transpose(2, 3), Access::read, 8);
    }
  }
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

constinit const Kernel decode_kernel{"decode", can, worth, splits, launch};

}  // namespace weft::ops::attention
