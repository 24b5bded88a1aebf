#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/problem.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t rows = 1;
  bool shuffle = false;
  std::uint32_t flight = 2;  // loads of an invocation at a time
  bool ahead = false;
  bool q_vec = false;
  bool vec = false;
  bool y_vec = false;
  bool mask = false;
  bool sinks = false;
  bool lse = false;
  bool partial = false;

  static constexpr auto fields =
      std::tuple{field("ROWS", &Variant::rows),      field("SHUFFLE", &Variant::shuffle),
                 field("FLIGHT", &Variant::flight),  field("AHEAD", &Variant::ahead),
                 field("Q_VEC", &Variant::q_vec),    field("VEC", &Variant::vec),
                 field("Y_VEC", &Variant::y_vec),    field("MASK", &Variant::mask),
                 field("SINKS", &Variant::sinks),    field("LSE", &Variant::lse),
                 field("PARTIAL", &Variant::partial)};
};

/// Floats that the rows of q have in workgroup memory.
constexpr std::uint64_t q_floats = 2304;

/// Rows that share keys: those of the heads of one group.
std::uint64_t group_rows(const Problem& problem) {
  return std::min(problem.head_group, problem.heads()) * problem.queries();
}

/// Software devices compile large kernels for seconds.
std::uint32_t rows_of(const Problem& problem, const Caps& caps) {
  const std::uint64_t fit = q_floats / round_up<std::uint64_t>(problem.size(), 8);
  return narrow(std::min({std::bit_ceil(group_rows(problem)), std::bit_floor(fit),
                          std::uint64_t{caps.software ? 4U : 8U}}));
}

Status can(const Problem& problem, const Caps& caps) {
  if (problem.size() > 1024 || problem.value_size() > 1024 || caps.workgroup_invocations < 128) {
    return fail(ErrorCode::unsupported,
                "The kernel for few queries takes heads of up to 1024 elements; q is {} and v is "
                "{}.",
                describe(problem.q), describe(problem.v));
  }
  return {};
}

bool worth(const Problem& problem, const Caps&) {
  return problem.queries() <= 8 && group_rows(problem) <= 32;
}

std::uint64_t jobs_of(const Problem& problem, const Caps& caps) {
  return problem.batches() * problem.k.shape[1] *
         ceil_div<std::uint64_t>(group_rows(problem), rows_of(problem, caps));
}

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  const std::uint64_t groups = jobs_of(problem, caps);
  const std::uint64_t wanted = busy_workgroups(caps);
  if (groups * 2 > wanted) return 1;
  return std::min(wanted / groups, ceil_div(problem.keys(), split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const bool partial = splits.part.given();
  const Variant variant{.rows = rows_of(problem, caps),
                        .shuffle = caps.subgroups && caps.subgroup_min >= 8,
                        .flight = caps.software ? 2U : 4U,
                        .ahead = !caps.software,
                        .q_vec = rows_aligned(problem.q, 4),
                        .vec = rows_aligned(problem.k, 8) && rows_aligned(problem.v, 8),
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
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

constinit const Kernel decode_kernel{"decode", can, worth, splits, launch};

}  // namespace weft::ops::attention
