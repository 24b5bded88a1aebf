
#include "base/format.hpp"
#include "ops/gemm/problem.hpp"

namespace weft::ops::gemm {
namespace {

constexpr std::uint32_t load_width = 4;  // elements per load

struct Variant {
  std::uint32_t bm = 0;
  std::uint32_t bn = 0;
  std::uint32_t bk = 0;
  std::uint32_t tm = 0;
  std::uint32_t tn = 0;
  std::uint32_t stages = 1;
  std::uint32_t unroll = 1;
  std::uint32_t band = 8;
  bool edge = false;  // M or N is not a multiple of the tile
};

std::optional<RegisterTile> tile_for(const Problem& problem, const Context& context) {
  if (context.args.register_tile) return context.args.register_tile;
  return choose_register_tile(problem.m(), problem.n(), problem.batches(), context.caps);
}

std::uint64_t tiles_of(const Problem& problem, const RegisterTile& tile) {
  return ceil_div<std::uint64_t>(problem.m(), tile.bm) *
         ceil_div<std::uint64_t>(problem.n(), tile.bn) * problem.batches();
}

/// Rows of c should step by 1, so that neighbouring columns are stored together.
Problem oriented(const Problem& problem) {
  return problem.c.stride[4] != 1 && problem.c.stride[3] == 1 ? problem.transposed() : problem;
}

std::unexpected<Failure> no_tile(const Caps& caps) {
  return fail(ErrorCode::unsupported,
              "No register tile fits a device with {} invocations and {} bytes of memory per "
              "workgroup.",
              caps.workgroup_invocations, caps.workgroup_bytes);
}

Status can(const Problem& problem, const Context& context) {
  const auto tile = tile_for(oriented(problem), context);
  if (!tile || !tile->valid(context.caps)) return no_tile(context.caps);
  return {};
}

bool worth(const Problem&, const Context&) { return true; }

std::uint32_t parts(const Problem& problem, const Context& context) {
  const auto tile = tile_for(oriented(problem), context);
  return tile ? parts_for(tiles_of(oriented(problem), *tile), problem.k(), 256, context.caps) : 1;
}

std::uint64_t step(const Problem& problem, const Context& context) {
  const auto tile = tile_for(oriented(problem), context);
  return tile ? tile->bk : 1;
}

Result<Dispatch> launch(const Problem& given, const Context& context) {
  const Problem problem = oriented(given);
  const auto chosen = tile_for(problem, context);
  if (!chosen) return no_tile(context.caps);
  const RegisterTile& tile = *chosen;
  const Traits traits = traits_of(problem, load_width, tile.bk);
  const Variant variant{.bm = tile.bm,
                        .bn = tile.bn,
                        .bk = tile.bk,
                        .tm = tile.tm,
                        .tn = tile.tn,
                        .stages = tile.stages,
                        .unroll = tile.unroll,
                        .band = tile.band,
                        .edge = problem.m() % tile.bm != 0 || problem.n() % tile.bn != 0};
  Launch out = launch_of(problem, traits, load_width);
  out.source = "gemm/tile.wgsl";
  out.label = formatted("gemm tile {}x{}x{}", tile.bm, tile.bn, tile.bk);
  out.constants = merged(traits, variant);
  out.grid = {static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.n(), tile.bn)),
              static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.m(), tile.bm)),
              static_cast<std::uint32_t>(problem.batches()) * problem.splits};
  return make_dispatch(std::move(out), context.caps);
}

}  // namespace

constinit const Kernel tile_kernel{"tile", can, worth, parts, step, launch};

}  // namespace weft::ops::gemm
