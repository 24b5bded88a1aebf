#include <utility>

#include "base/format.hpp"
#include "ops/attention/problem.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t teams = 1;
  bool y_vec = false;
  bool sinks = false;
  bool lse = false;
  bool packed = false;
};

}  // namespace

Result<Dispatch> combine(const Problem& problem, const Splits& splits, const View& packed,
                         const Caps& caps) {
  // One kernel for any number of splits: a team takes four of them at a time.
  const bool teams = !caps.traits.slow_barriers && problem.value_size() <= 256 &&
                     caps.workgroup_invocations >= 512;
  const Variant variant{.teams = teams ? 8U : 1U,
                        .y_vec = rows_aligned(problem.y, 4),
                        .sinks = problem.sinks.given(),
                        .lse = problem.lse.given(),
                        .packed = packed.given()};
  Params params = params_of(problem, splits);
  params.jobs = narrow(problem.rows());
  Launch out;
  out.source = "attention/combine.wgsl";
  out.label = formatted("attention combine {}", name(problem.y.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands.push_back({.name = "part", .view = splits.part, .access = Access::read, .unit = 4});
  const bool atomic = !variant.y_vec && problem.y.dtype != DType::f32;
  add_strides(out.params, "y", problem.y);
  out.operands.push_back(operand_of("y", problem.y, atomic ? Access::atomic : Access::write));
  if (variant.sinks) out.operands.push_back({.name = "sinks", .view = problem.sinks});
  if (variant.lse) {
    add_strides(out.params, "lse", problem.lse);
    out.operands.push_back({.name = "lse", .view = problem.lse, .access = Access::write});
  }
  if (variant.packed) {
    out.label += " packed";
    out.params.add("packed_blocks", narrow(problem.heads() * problem.value_size() / 32));
    out.params.add("packed_row", narrow(packed.shape[packed.rank - 1]));
    out.operands.push_back({.name = "packed", .view = packed, .access = Access::write});
  }
  out.grid = grid_1d(problem.rows(), caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::attention
