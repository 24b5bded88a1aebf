#include <utility>

#include "base/format.hpp"
#include "ops/attention/problem.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t lanes = 4;
  std::uint32_t parts = 1;        // of 4 columns of q that a lane has,
  std::uint32_t value_parts = 1;  // and of values
  bool y_vec = false;
  bool mask = false;
  bool sinks = false;
  bool lse = false;
  bool partial = false;
};

/// A longer text takes longer to compile than the launches that it spares.
constexpr std::uint32_t most_parts = 8;
/// With more queries it pays to have keys in registers for several of them.
constexpr std::uint64_t most_queries = 64;

std::uint32_t parts_of(std::uint64_t columns, const Caps& caps) {
  return narrow(ceil_div<std::uint64_t>(columns, 4ULL * caps.subgroup_min));
}

Status can(const Problem& problem, const Caps& caps) {
  if (!caps.subgroups || caps.subgroup_min != caps.subgroup_max ||
      (caps.subgroup_min != 4 && caps.subgroup_min != 8)) {
    return fail(ErrorCode::unsupported,
                "The kernel of single subgroups needs those of 4 or 8 invocations; they have {} "
                "to {}.",
                caps.subgroup_min, caps.subgroup_max);
  }
  if (!rows_aligned(problem.q, 4) || !rows_aligned(problem.k, 4) || !rows_aligned(problem.v, 4) ||
      parts_of(problem.size(), caps) > most_parts ||
      parts_of(problem.value_size(), caps) > most_parts) {
    return fail(ErrorCode::unsupported,
                "The kernel of single subgroups takes contiguous rows of chunks of 4, and {} of "
                "them at most; q is {}, k is {} and v is {}.",
                most_parts * caps.subgroup_min, describe(problem.q), describe(problem.k),
                describe(problem.v));
  }
  return {};
}

bool worth(const Problem& problem, const Caps& caps) {
  return caps.traits.slow_barriers && problem.queries() <= most_queries;
}

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  // One token of a model with few heads: splits would be added up by another kernel.
  return problem.rows() >= caps.traits.processors || problem.keys() < 1024
             ? 1
             : caps.traits.processors / problem.rows();
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const bool partial = splits.part.given();
  const Variant variant{.lanes = caps.subgroup_min,
                        .parts = parts_of(problem.size(), caps),
                        .value_parts = parts_of(problem.value_size(), caps),
                        .y_vec = !partial && rows_aligned(problem.y, 4),
                        .mask = problem.mask.given(),
                        .sinks = !partial && problem.sinks.given(),
                        .lse = !partial && problem.lse.given(),
                        .partial = partial};
  Params params = params_of(problem, splits);
  const std::uint64_t jobs = problem.rows() * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/lone.wgsl";
  out.label = formatted("attention lone {}", name(problem.k.dtype));
  out.features.subgroups = true;
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_operands(out, problem, splits, {.query = 4, .key = 4, .mask = 1});
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

constinit const Kernel lone_kernel{"lone", can, worth, splits, launch};

}  // namespace weft::ops::attention
