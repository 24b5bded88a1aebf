#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/problem.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::attention {
namespace {

constexpr std::uint64_t block_queries = 16;

struct Variant {
  bool vec = false;
  bool y_vec = false;
  bool mask = false;
  bool sinks = false;
  bool lse = false;
  bool partial = false;
  bool rolled = false;
  std::uint32_t chunks = 1;  // of 64 columns of the result
  std::uint32_t workgroup = narrow_workgroup;
};

Status can(const Problem&, const Caps&) { return {}; }

bool worth(const Problem&, const Caps&) { return true; }

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  const std::uint64_t groups =
      problem.batches() * problem.heads() * ceil_div(problem.queries(), block_queries);
  const std::uint64_t wanted = busy_workgroups(caps) / 2;
  if (groups >= wanted) return 1;
  // A split should be worth the pass that adds it up.
  return std::min(wanted / groups, ceil_div<std::uint64_t>(problem.keys(), 4 * split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const bool partial = splits.part.given();
  const std::uint32_t chunks = narrow(ceil_div(problem.value_size(), chunk_columns));
  const Variant variant{
      .vec = rows_aligned(problem.q, 4) && rows_aligned(problem.k, 4) && rows_aligned(problem.v, 4),
      .y_vec = !partial && rows_aligned(problem.y, 4),
      .mask = problem.mask.given(),
      .sinks = !partial && problem.sinks.given(),
      .lse = !partial && problem.lse.given(),
      .partial = partial,
      .rolled = caps.traits.slow_compile,
      .chunks = caps.traits.slow_compile ? rolled_chunks : chunks};
  Params params = params_of(problem, splits);
  params.chunks = chunks;
  params.blocks = narrow(ceil_div(problem.queries(), block_queries));
  const std::uint64_t jobs = problem.batches() * problem.heads() * params.blocks * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/tile.wgsl";
  out.label = formatted("attention tile {}", name(problem.k.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_operands(out, problem, splits, {});
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

constinit const Kernel tile_kernel{"tile", can, worth, splits, launch};

}  // namespace weft::ops::attention
