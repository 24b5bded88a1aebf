// The kernel of software adapters: register tiles that share nothing.
#include "base/format.hpp"
#include "ops/gemm/problem.hpp"

namespace weft::ops::gemm {
namespace {

constexpr std::uint32_t load_width = 4;  // elements per load
constexpr std::uint32_t group_size = 32;

struct Variant {
  std::uint32_t tm = 8;
  std::uint32_t tn = 8;
  std::uint32_t threads = group_size;
  bool edge = false;  // M or N is not a multiple of the tile
};

std::uint64_t workgroups(const Problem& problem, std::uint32_t side) {
  const std::uint64_t tiles =
      ceil_div<std::uint64_t>(problem.m(), side) * ceil_div<std::uint64_t>(problem.n(), side);
  return ceil_div<std::uint64_t>(tiles, group_size);
}

/// Measured on SwiftShader, whose subgroups have four invocations; wider ones make more of the
/// tiles that they share.
bool worth(const Problem&, const Context& context) {
  return context.caps.traits.slow_barriers && context.caps.subgroup_max == 4;
}

/// Small products have smaller tiles, so that all cores get some. Tiles are square: turning the
/// product changes neither their sides nor their number.
Result<Choice> choose(const Problem& problem, const Context& context) {
  const Caps& caps = context.caps;
  const bool small = workgroups(problem, 8) * problem.batches() < caps.traits.processors;
  const std::uint32_t side = small ? 4 : 8;
  return Choice{
      .turned = in_columns(problem.c),
      .tile = RegisterTile{.tm = side, .tn = side},
      .parts = parts_for(workgroups(problem, side) * problem.batches(), problem.k(), 256, caps),
      .step = load_width};
}

Result<Dispatch> launch(const Problem& problem, const Choice& choice, const Context& context) {
  const auto& tile = std::get<RegisterTile>(choice.tile);
  const Variant variant{.tm = tile.tm,
                        .tn = tile.tn,
                        .edge = problem.m() % tile.tm != 0 || problem.n() % tile.tn != 0};
  const Traits traits = traits_of(problem, load_width, load_width);
  Launch out = launch_of(problem, traits, load_width);
  out.source = "gemm/lone.wgsl";
  out.label = formatted("gemm lone {}x{}", variant.tm, variant.tn);
  out.constants = merged(traits, variant);
  out.grid = grid_1d(workgroups(problem, tile.tm), context.caps);
  out.grid.z = static_cast<std::uint32_t>(problem.batches()) * problem.splits;
  return make_dispatch(std::move(out), context.caps);
}

}  // namespace

constinit const Kernel lone_kernel{"lone", worth, choose, launch};

}  // namespace weft::ops::gemm
