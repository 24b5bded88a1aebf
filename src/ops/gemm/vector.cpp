// The kernels for one row (matvec) or a few rows (thin) of a: bound by reading b, which they read
// once.
#include <algorithm>
#include <bit>

#include "base/format.hpp"
#include "ops/gemm/problem.hpp"
#include "ops/subgroup.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::gemm {
namespace {

constexpr std::uint32_t load_width = 8;  // elements per load
constexpr std::uint64_t max_rows = 16;

struct RowsVariant {
  std::uint32_t threads = 256;
  std::uint32_t team = 256;
  std::uint32_t unroll = 1;
  std::uint32_t cols = 1;
  std::uint32_t subgroup_min = 0;  // 0: no subgroups
};

struct ColumnsVariant {
  std::uint32_t threads = 256;
  std::uint32_t ky = 32;
  std::uint32_t unroll = 1;
  std::uint32_t cols = 1;
};

/// The product has no more rows than columns, so that b is the large operand.
bool turns(const Problem& problem) { return problem.n() < problem.m(); }
Problem oriented(const Problem& problem) { return turns(problem) ? problem.transposed() : problem; }

std::uint32_t accumulators(const Problem& problem) {
  return std::bit_ceil(static_cast<std::uint32_t>(problem.m()));
}

/// The sizes of subgroups that a kernel may get: one, where it is sure or can be asked for.
struct Subgroups {
  std::uint32_t narrowest = 0;
  std::uint32_t widest = 0;
};

Subgroups subgroups_of(const Caps& caps) {
  if (!caps.subgroups) return {};
  if (const std::uint32_t size = sure_subgroup(caps)) return {size, size};
  return {caps.subgroup_min, caps.subgroup_max};
}

bool along_k(const Problem& problem) { return layout_of(problem.b, 3, load_width).along_k; }

VectorTile tile_for(const Problem& problem, const Context& context) {
  if (context.args.vector_tile) return *context.args.vector_tile;
  const Caps& caps = context.caps;
  if (const auto named = named_vector_tile(caps)) return *named;
  // Measured on a large GPU: along k one group of loads in flight is enough for one row, and across
  // k larger workgroups win where there are many columns.
  VectorTile tile;
  tile.threads = tile.team = workgroup_width(caps);
  tile.ky = std::min(tile.ky, tile.threads / 8);
  if (along_k(problem) && problem.m() == 1) tile.unroll = 1;
  if (!along_k(problem) && problem.n() >= 8192 && caps.workgroup_invocations >= 512) {
    tile = {.threads = 512, .team = 512, .ky = 64};
  }
  if (caps.traits.slow_barriers) return {.threads = 64, .team = 8, .ky = 8, .unroll = 1};
  // At least two chunks per invocation of a team, so that starting it pays.
  while (tile.team > 32 && problem.k() < std::uint64_t{tile.team} * 16) tile.team /= 2;
  if (const std::uint32_t widest = subgroups_of(caps).widest; widest <= tile.threads) {
    tile.team = std::max(tile.team, widest);
  }
  tile.unroll = problem.m() <= 2 ? tile.unroll : 1;
  return tile;
}

std::uint64_t workgroups(const Problem& problem, const VectorTile& tile) {
  const std::uint64_t columns =
      along_k(problem) ? 4ULL * (tile.threads / tile.team) : 8ULL * (tile.threads / tile.ky);
  return ceil_div(problem.n(), columns);
}

Result<Choice> choose(const Problem& given, const Context& context, std::uint64_t most) {
  const Problem problem = oriented(given);
  if (problem.m() > most) {
    return fail(ErrorCode::unsupported,
                "This kernel is for products with at most {} rows or columns; c is {}.", most,
                describe(given.c));
  }
  const VectorTile tile = tile_for(problem, context);
  if (!tile.valid(context.caps)) {
    return fail(ErrorCode::unsupported,
                "A workgroup of {} invocations in teams of {} does not fit this device.",
                tile.threads, tile.team);
  }
  return Choice{
      turns(given), tile,
      parts_for(workgroups(problem, tile) * problem.batches(), problem.k(), 2048, context.caps),
      load_width};
}

Result<Dispatch> launch_rows(const Problem& problem, const Context& context, const VectorTile& tile,
                             Launch out, const Traits& traits) {
  const Caps& caps = context.caps;
  RowsVariant variant{.threads = tile.threads,
                      .team = tile.team,
                      .unroll = tile.unroll,
                      .cols = accumulators(problem)};
  // A team adds up through subgroups where these do not reach across teams.
  const Subgroups sizes = subgroups_of(caps);
  if (sizes.narrowest >= 4 && tile.team % sizes.widest == 0 &&
      tile.threads / sizes.narrowest * variant.cols * 16 <= caps.workgroup_bytes) {
    variant.subgroup_min = sizes.narrowest;
    out.features.subgroups = true;
    out.features.subgroup_size =
        sizes.narrowest == sizes.widest ? asked_subgroup(caps, sizes.narrowest) : 0;
  }
  out.source = "gemm/rows.wgsl";
  out.label = formatted("gemm rows {}", variant.cols);
  out.constants = merged(traits, variant);
  return make_dispatch(std::move(out), caps);
}

Result<Dispatch> launch(const Problem& problem, const Choice& choice, const Context& context) {
  const auto& tile = std::get<VectorTile>(choice.tile);
  const Traits traits = traits_of(problem, load_width, load_width);
  Launch out = launch_of(problem, traits, load_width);
  out.grid = grid_1d(workgroups(problem, tile), context.caps);
  out.grid.z = static_cast<std::uint32_t>(problem.batches()) * problem.splits;
  if (along_k(problem)) return launch_rows(problem, context, tile, std::move(out), traits);
  const ColumnsVariant variant{.threads = tile.threads,
                               .ky = tile.ky,
                               .unroll = tile.unroll * (problem.m() == 1 ? 4 : 2),
                               .cols = accumulators(problem)};
  out.source = "gemm/columns.wgsl";
  out.label = formatted("gemm columns {}", variant.cols);
  out.constants = merged(traits, variant);
  return make_dispatch(std::move(out), context.caps);
}

Result<Choice> choose_matvec(const Problem& problem, const Context& context) {
  return choose(problem, context, 1);
}

Result<Choice> choose_thin(const Problem& problem, const Context& context) {
  return choose(problem, context, max_rows);
}

bool worth_matvec(const Problem&, const Context&) { return true; }

/// Matrix units overtake this kernel beyond 8 rows.
bool worth_thin(const Problem& problem, const Context& context) {
  return oriented(problem).m() <= 8 || !matrix_kernel.choose(problem, context);
}

}  // namespace

constinit const Kernel matvec_kernel{"matvec", worth_matvec, choose_matvec, launch};
constinit const Kernel thin_kernel{"thin", worth_thin, choose_thin, launch};

}  // namespace weft::ops::gemm
