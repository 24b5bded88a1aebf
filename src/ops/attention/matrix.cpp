#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/matrix.hpp"
#include "ops/tile_families.hpp"

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
  std::string_view component = "f16";
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
  bool factors = false;  // of q, k and v
};

/// How a workgroup divides its work, see matrix.wgsl.
struct Tile {
  std::uint32_t wm = 2;
  std::uint32_t wn = 2;
  std::uint32_t tm = 2;
  std::uint32_t keys = 32;
};

std::uint64_t block_queries(const Matrices& matrices, const Tile& tile) {
  return std::uint64_t{tile.wm} * tile.tm * matrices.shape.m;
}

/// Head sizes in whole matrices, for every subgroup as many.
struct Sizes {
  std::uint64_t dk = 0;
  std::uint64_t dv = 0;
};

Sizes sizes_of(const Problem& problem, const Matrices& matrices, const Tile& tile) {
  return {.dk = matrix_size(problem.size()),
          .dv = round_up<std::uint64_t>(
              problem.value_size(),
              std::max<std::uint64_t>(16, std::uint64_t{tile.wn} * matrices.shape.n))};
}

std::uint64_t workgroup_bytes(const Matrices& matrices, const Sizes& sizes, const Tile& tile) {
  const std::uint64_t rows = block_queries(matrices, tile);
  const std::uint64_t tile_rows = std::max(tile.keys, tile.tm * matrices.shape.m);
  const std::uint64_t per = matrices.per_load();
  return (tile_rows * (sizes.dk / per + 1) + tile.keys * (sizes.dv / per + 1)) * 16 +
         rows * (tile.keys / 4 + 2) * (16 + 64 / per) + std::uint64_t{tile.wm} * tile.wn * 4;
}

bool fits(const Tile& tile, const Problem& problem, const Matrices& matrices, const Caps& caps) {
  const MatrixConfig& shape = matrices.shape;
  return tile.wm * tile.wn * matrices.subgroup <= caps.workgroup_invocations &&
         tile.keys % (tile.wn * shape.n) == 0 && tile.keys % shape.k == 0 &&
         lanes_fit(matrices, tile.wn, tile.tm) &&
         // A lane has whole groups of four keys of its row.
         tile.keys * tile.tm * shape.m % (4 * tile.wn * matrices.subgroup) == 0 &&
         workgroup_bytes(matrices, sizes_of(problem, matrices, tile), tile) <= caps.workgroup_bytes;
}

/// What Traits::attention_tile chooses among.
constexpr std::array<Tile, 7> named_tiles{{{.wm = 4, .wn = 2, .tm = 2, .keys = 32},
                                           {.wm = 2, .wn = 2, .tm = 2, .keys = 32},
                                           {.wm = 8, .wn = 2, .tm = 1, .keys = 32},
                                           {.wm = 4, .wn = 2, .tm = 1, .keys = 32},
                                           {.wm = 2, .wn = 4, .tm = 2, .keys = 64},
                                           {.wm = 4, .wn = 1, .tm = 1, .keys = 32},
                                           {.wm = 2, .wn = 2, .tm = 2, .keys = 16}}};

/// The first tile that fits the device, or else the last. Software devices compile what they
/// emulate for seconds, so that they get a small one. Measured on an H200: large heads take a
/// processor's registers with 8 subgroups of two rows of matrices, and with a mask, which needs
/// some more, with 16 of one.
Tile tile_for(const Problem& problem, const Matrices& matrices, const Caps& caps) {
  if (const std::uint32_t number = caps.traits.attention_tile;
      number > 0 && number <= named_tiles.size() &&
      fits(named_tiles[number - 1], problem, matrices, caps))
    return named_tiles[number - 1];
  if (caps.traits.slow_compile) return {.wm = 1, .wn = 2, .tm = 2, .keys = 16};
  constexpr Tile small{.wm = 2, .wn = 2, .tm = 2, .keys = 32};
  // The last ones are for devices with less workgroup memory, or for matrices of f32.
  std::array<Tile, 5> tiles{{{.wm = 4, .wn = 2, .tm = 2, .keys = 32},
                             small,
                             small,
                             {.wm = 4, .wn = 2, .tm = 2, .keys = 16},
                             {.wm = 2, .wn = 2, .tm = 2, .keys = 16}}};
  if (problem.mask.given()) tiles[0] = {.wm = 8, .wn = 2, .tm = 1, .keys = 32};
  if (problem.mask.given()) tiles[1] = {.wm = 4, .wn = 2, .tm = 1, .keys = 32};
  if (problem.size() <= 64 && problem.value_size() <= 64) {
    tiles[0] = {.wm = 2, .wn = 4, .tm = 2, .keys = 64};
  }
  for (const Tile& tile : tiles) {
    if (fits(tile, problem, matrices, caps)) return tile;
  }
  return tiles.back();
}

Status can(const Problem& problem, const Caps& caps) {
  const auto matrices = matrices_for(caps);
  if (!matrices) {
    return fail(ErrorCode::unsupported,
                "This device has no subgroup matrices that multiply f16 or f32 into f32.");
  }
  if (problem.k.dtype != DType::f16 || problem.v.dtype != DType::f16) {
    return fail(ErrorCode::unsupported, "Matrix units take k and v of f16; they are {} and {}.",
                name(problem.k.dtype), name(problem.v.dtype));
  }
  const Tile tile = tile_for(problem, *matrices, caps);
  const std::uint32_t invocations = tile.wm * tile.wn * matrices->subgroup;
  const Sizes sizes = sizes_of(problem, *matrices, tile);
  const std::uint64_t bytes = workgroup_bytes(*matrices, sizes, tile);
  if (sizes.dk > 128 || sizes.dv > 128 || !fits(tile, problem, *matrices, caps)) {
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
  const auto matrices = matrices_for(caps);
  if (!matrices) return 1;
  const std::uint64_t groups =
      problem.batches() * problem.heads() *
      ceil_div(problem.queries(), block_queries(*matrices, tile_for(problem, *matrices, caps)));
  const std::uint64_t wanted = busy_workgroups(caps) / 4;
  if (groups * 2 > wanted) return 1;
  return std::min(wanted / groups, ceil_div<std::uint64_t>(problem.keys(), 8 * split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const auto matrices = matrices_for(caps);
  if (!matrices) return fail(ErrorCode::internal, "There are no matrix units for this launch.");
  const bool partial = splits.part.given();
  const Tile tile = tile_for(problem, *matrices, caps);
  const Sizes sizes = sizes_of(problem, *matrices, tile);
  const Variant variant{.dk = narrow(sizes.dk),
                        .dv = narrow(sizes.dv),
                        .bk = tile.keys,
                        .wm = tile.wm,
                        .wn = tile.wn,
                        .tm = tile.tm,
                        .subgroup = matrices->subgroup,
                        .component = matrices->component(),
                        .mm = matrices->shape.m,
                        .mn = matrices->shape.n,
                        .mk = matrices->shape.k,
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
                        .partial = partial,
                        .factors = problem.factors.given()};
  Params params = params_of(problem, splits);
  params.blocks = narrow(ceil_div(problem.queries(), block_queries(*matrices, tile)));
  const std::uint64_t jobs = problem.batches() * problem.heads() * params.blocks * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/matrix.wgsl";
  out.label = formatted("attention matrix {}x{}", variant.dk, variant.dv);
  out.features = features_of(*matrices, caps);
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_operands(out, problem, splits, {.query = 8, .key = 8, .mask = 4});
  add_factors(out, problem.factors);
  if (variant.listed) {
    out.params.add("list_row", narrow(problem.list.shape[3]));
    out.operands.push_back({.name = "list", .view = problem.list});
  }
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

MaskBlock mask_block(const Problem& problem, const Caps& caps) {
  const auto matrices = matrices_for(caps);
  if (!matrices) return {};
  const Tile tile = tile_for(problem, *matrices, caps);
  return {.queries = narrow(block_queries(*matrices, tile)), .keys = tile.keys};
}

}  // namespace

std::optional<Matrices> matrices_for(const Caps& caps) {
  return float_matrices(caps, [](const Matrices& found) {
    // Each row of a matrix must have its own lanes, at most four.
    const MatrixConfig& shape = found.shape;
    return found.subgroup % shape.m == 0 && found.subgroup / shape.m <= 4 && shape.n <= 16 &&
           shape.n >= 8 && shape.k <= 16;
  });
}

/// Behind the tiles come twice and half as many splits of the keys, for all kernels.
std::uint32_t attention_tile_count() { return named_tiles.size() + 2; }

std::vector<std::string> attention_tiles() {
  std::vector<std::string> texts = texts_of_tiles(named_tiles);
  texts.insert(texts.end(), {"twice as many splits", "half as many splits"});
  return texts;
}

std::uint64_t tuned_splits(std::uint64_t wanted, const Caps& caps) {
  const std::uint32_t number = caps.traits.attention_tile;
  if (number == named_tiles.size() + 1) wanted *= 2;
  // Keys that are split stay so: only then is there a launch that packs the result.
  if (number == named_tiles.size() + 2 && wanted > 1) {
    wanted = std::max<std::uint64_t>(2, wanted / 2);
  }
  return std::max<std::uint64_t>(1, wanted);
}

constinit const Kernel matrix_kernel{"matrix", can, worth, splits, launch, mask_block};

}  // namespace weft::ops::attention
