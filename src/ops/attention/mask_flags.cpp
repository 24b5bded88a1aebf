#include <utility>

#include "ops/attention/problem.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t queries = 64;
  std::uint32_t keys = 64;
  bool vec = false;
};

}  // namespace

std::array<std::uint64_t, 4> flag_extents(const Problem& problem, const MaskBlock& block) {
  return {problem.mask.shape[0], problem.mask.shape[1],
          ceil_div<std::uint64_t>(problem.queries(), block.queries),
          ceil_div<std::uint64_t>(problem.keys(), block.keys)};
}

Result<Dispatch> mask_flags(const Problem& problem, const View& flags, const MaskBlock& block,
                            const Caps& caps) {
  const Variant variant{
      .queries = block.queries, .keys = block.keys, .vec = rows_aligned(problem.mask, 4)};
  const auto extents = flag_extents(problem, block);
  const std::uint64_t jobs = extents[0] * extents[1] * extents[2] * extents[3];
  Params params = params_of(problem, {});
  params.blocks = narrow(extents[2]);
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/mask_flags.wgsl";
  out.label = "attention mask flags";
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.params.add("flag_row", narrow(extents[3]));
  add_strides(out.params, "mask", problem.mask);
  out.operands.push_back(operand_of("mask", problem.mask, Access::read, 4));
  out.operands.push_back({.name = "flags", .view = flags, .access = Access::write});
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

Result<Dispatch> mask_list(const Problem& problem, const View& flags, const Caps& caps) {
  const std::uint64_t rows = flags.shape[0] * flags.shape[1] * flags.shape[2];
  Params params = params_of(problem, {});
  params.jobs = narrow(rows);
  Launch out;
  out.source = "attention/mask_list.wgsl";
  out.label = "attention mask list";
  out.params = block_of(params);
  out.params.add("flag_row", narrow(flags.shape[3]));
  out.operands.push_back({.name = "flags", .view = flags});
  out.operands.push_back({.name = "list", .view = problem.list, .access = Access::write});
  out.grid = grid_1d(rows, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::attention
