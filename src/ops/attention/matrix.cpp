#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/matrix.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t dk = 0;
  std::uint32_t dv = 0;
  std::uint32_t bk = 64;        // keys of a block
  std::uint32_t wm = 2;         // subgroups along queries,
  std::uint32_t wn = 2;         // and along keys and columns
  std::uint32_t tm = 2;         // rows of matrices of a subgroup
  std::uint32_t subgroup = 32;  // invocations of one
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  bool k_full = false;
  bool v_full = false;
  bool vec = false;
  bool q_vec = false;
  bool y_vec = false;
  bool mask = false;
  bool mask_vec = false;
  bool listed = false;
  bool cap = false;
  bool sinks = false;
  bool lse = false;
  bool partial = false;
};

/// How a workgroup divides its work, see matrix.wgsl.
struct Tile {
  std::uint32_t wm = 2;
  std::uint32_t wn = 2;
  std::uint32_t tm = 2;
  std::uint32_t keys = 32;
};

std::uint64_t block_queries(const MatrixConfig& shape, const Tile& tile) {
  return std::uint64_t{tile.wm} * tile.tm * shape.m;
}

/// Head sizes in whole matrices, for every subgroup as many.
struct Sizes {
  std::uint64_t dk = 0;
  std::uint64_t dv = 0;
};

Sizes sizes_of(const Problem& problem, const MatrixConfig& shape, const Tile& tile) {
  return {.dk = matrix_size(problem.size()),
          .dv = round_up<std::uint64_t>(
              problem.value_size(), std::max<std::uint64_t>(16, std::uint64_t{tile.wn} * shape.n))};
}

std::uint64_t workgroup_bytes(const MatrixConfig& shape, const Sizes& sizes, const Tile& tile) {
  const std::uint64_t rows = block_queries(shape, tile);
  const std::uint64_t tile_rows = std::max(tile.keys, tile.tm * shape.m);
  return (tile_rows * (sizes.dk / 8 + 1) + tile.keys * (sizes.dv / 8 + 1)) * 16 +
         rows * (tile.keys / 4 + 2) * (16 + 8) + std::uint64_t{tile.wm} * tile.wn * 4;
}

bool fits(const Tile& tile, const Problem& problem, const MatrixConfig& shape, const Caps& caps) {
  return tile.wm * tile.wn * caps.subgroup_max <= caps.workgroup_invocations &&
         lanes_fit(shape, tile.wn, tile.tm, caps.subgroup_max) &&
         workgroup_bytes(shape, sizes_of(problem, shape, tile), tile) <= caps.workgroup_bytes;
}

/// The first tile that fits the device, or else the last. Software devices compile what they emulate for seconds, so that they
/// get a small one. Measured on an H200: large heads take a processor's registers with 8 subgroups of two rows of matrices,
/// and with a mask, which needs some more, with 16 of one.
Tile tile_for(const Problem& problem, const MatrixConfig& shape, const Caps& caps) {
  if (caps.traits.slow_compile) return {.wm = 1, .wn = 2, .tm = 2, .keys = 16};
  constexpr Tile small{.wm = 2, .wn = 2, .tm = 2, .keys = 32};
  std::array<Tile, 3> tiles{{{.wm = 4, .wn = 2, .tm = 2, .keys = 32}, small, small}};
  if (problem.mask.given()) tiles[0] = {.wm = 8, .wn = 2, .tm = 1, .keys = 32};
  if (problem.mask.given()) tiles[1] = {.wm = 4, .wn = 2, .tm = 1, .keys = 32};
  if (problem.size() <= 64 && problem.value_size() <= 64) {
    tiles[0] = {.wm = 2, .wn = 4, .tm = 2, .keys = 64};
  }
  for (const Tile& tile : tiles) {
    if (fits(tile, problem, shape, caps)) return tile;
  }
  return tiles.back();
}

Status can(const Problem& problem, const Caps& caps) {
  const auto shape = matrix_shape(caps);
  if (!shape) {
    return fail(ErrorCode::unsupported,
                "This device has no subgroup matrices that multiply f16 into f32.");
  }
  if (problem.k.dtype != DType::f16 || problem.v.dtype != DType::f16) {
    return fail(ErrorCode::unsupported, "Matrix units take k and v of f16; they are {} and {}.",
                name(problem.k.dtype), name(problem.v.dtype));
  }
  const Tile tile = tile_for(problem, *shape, caps);
  const std::uint32_t invocations = tile.wm * tile.wn * caps.subgroup_max;
  const Sizes sizes = sizes_of(problem, *shape, tile);
  const std::uint64_t bytes = workgroup_bytes(*shape, sizes, tile);
  if (sizes.dk > 128 || sizes.dv > 128 || !fits(tile, problem, *shape, caps)) {
    return fail(ErrorCode::unsupported,
                "Heads of {} and {} elements need {} bytes of workgroup memory and {} "
                "invocations; the kernel takes heads of up to 128, and this device has {} and {}.",
                problem.size(), problem.value_size(), bytes, invocations, caps.workgroup_bytes,
                caps.workgroup_invocations);
  }
  return {};
}

/// Few queries leave most of a tile empty.
bool worth(const Problem& problem, const Caps& caps) {
  return caps.traits.matrix_units && problem.queries() > 8;
}

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  const auto shape = matrix_shape(caps);
  if (!shape) return 1;
  const std::uint64_t groups =
      problem.batches() * problem.heads() *
      ceil_div(problem.queries(), block_queries(*shape, tile_for(problem, *shape, caps)));
  const std::uint64_t wanted = busy_workgroups(caps) / 4;
  if (groups * 2 > wanted) return 1;
  return std::min(wanted / groups, ceil_div<std::uint64_t>(problem.keys(), 8 * split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const auto shape = matrix_shape(caps);
  if (!shape) return fail(ErrorCode::internal, "There are no matrix units for this launch.");
  const bool partial = splits.part.given();
  const Tile tile = tile_for(problem, *shape, caps);
  const Sizes sizes = sizes_of(problem, *shape, tile);
  const Variant variant{.dk = narrow(sizes.dk),
                        .dv = narrow(sizes.dv),
                        .bk = tile.keys,
                        .wm = tile.wm,
                        .wn = tile.wn,
                        .tm = tile.tm,
                        .subgroup = caps.subgroup_max,
                        .mm = shape->m,
                        .mn = shape->n,
                        .mk = shape->k,
                        .k_full = sizes.dk == problem.size(),
                        .v_full = sizes.dv == problem.value_size(),
                        .vec = rows_aligned(problem.k, 8) && rows_aligned(problem.v, 8),
                        .q_vec = problem.q.dtype == DType::f16 && rows_aligned(problem.q, 8),
                        .y_vec = !partial && rows_aligned(problem.y, 4),
                        .mask = problem.mask.given(),
                        .mask_vec = problem.mask.given() && rows_aligned(problem.mask, 4),
                        .listed = problem.list.given(),
                        .cap = problem.rules.soft_cap > 0,
                        .sinks = !partial && problem.sinks.given(),
                        .lse = !partial && problem.lse.given(),
                        .partial = partial};
  Params params = params_of(problem, splits);
  params.blocks = narrow(ceil_div(problem.queries(), block_queries(*shape, tile)));
  const std::uint64_t jobs = problem.batches() * problem.heads() * params.blocks * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/matrix.wgsl";
  out.label = formatted("attention matrix {}x{}", variant.dk, variant.dv);
  out.features = {.f16 = true, .subgroups = true, .subgroup_matrix = true};
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_operands(out, problem, splits, {.query = 8, .key = 8, .mask = 4});
  if (variant.listed) {
    out.params.add("list_row", narrow(problem.list.shape[3]));
    out.operands.push_back({.name = "list", .view = problem.list});
  }
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

MaskBlock mask_block(const Problem& problem, const Caps& caps) {
  const auto shape = matrix_shape(caps);
  if (!shape) return {};
  const Tile tile = tile_for(problem, *shape, caps);
  return {.queries = narrow(block_queries(*shape, tile)), .keys = tile.keys};
}

}  // namespace

std::optional<MatrixConfig> matrix_shape(const Caps& caps) {
  if (!caps.subgroup_matrix || !caps.f16 || !caps.subgroups) return std::nullopt;
  if (caps.subgroup_min != caps.subgroup_max || caps.subgroup_max == 0) return std::nullopt;
  for (const std::uint32_t n : {16U, 8U}) {
    const MatrixConfig shape{MatrixType::f16, MatrixType::f32, n, n, n};
    // Each row of a matrix must have its own lanes, at most four.
    const bool lanes = caps.subgroup_max % n == 0 && caps.subgroup_max / n <= 4;
    if (lanes && std::ranges::contains(caps.matrix_configs, shape)) return shape;
  }
  return std::nullopt;
}

constinit const Kernel matrix_kernel{"matrix", can, worth, splits, launch, mask_block};

}  // namespace weft::ops::attention
