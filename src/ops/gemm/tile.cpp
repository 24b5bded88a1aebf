
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

std::unexpected<Failure> no_tile(const Caps& caps) {
  return fail(ErrorCode::unsupported,
              "No register tile fits a device with {} invocations and {} bytes of memory per "
              "workgroup.",
              caps.workgroup_invocations, caps.workgroup_bytes);
}

bool worth(const Problem&, const Context&) { return true; }

Result<Choice> choose(const Problem& problem, const Context& context) {
  const bool turned = in_columns(problem.c);
  const std::uint64_t m = turned ? problem.n() : problem.m();
  const std::uint64_t n = turned ? problem.m() : problem.n();
  const std::optional<RegisterTile> tile =
      context.args.register_tile
          ? context.args.register_tile
          : choose_register_tile(m, n, problem.k(), problem.batches(), context.caps,
                                 context.args.bounded && fast_halves(context.caps));
  if (!tile || !tile->valid(context.caps)) return no_tile(context.caps);
  const std::uint64_t tiles = ceil_div<std::uint64_t>(m, tile->bm) *
                              ceil_div<std::uint64_t>(n, tile->bn) * problem.batches();
  return Choice{turned, *tile, parts_for(tiles, problem.k(), 256, context.caps), tile->bk};
}

Result<Dispatch> launch(const Problem& problem, const Choice& choice, const Context& context) {
  const auto& tile = std::get<RegisterTile>(choice.tile);
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
  out.label =
      formatted("gemm tile{} {}x{}x{}", tile.halves ? " f16" : "", tile.bm, tile.bn, tile.bk);
  out.features.f16 = tile.halves;
  out.constants = merged(traits, variant);
  if (tile.halves) out.constants.emplace("SHORT_SUMS", std::int64_t{1});
  out.grid = {static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.n(), tile.bn)),
              static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.m(), tile.bm)),
              static_cast<std::uint32_t>(problem.batches()) * problem.splits};
  return make_dispatch(std::move(out), context.caps);
}

}  // namespace

constinit const Kernel tile_kernel{"tile", worth, choose, launch};

}  // namespace weft::ops::gemm
