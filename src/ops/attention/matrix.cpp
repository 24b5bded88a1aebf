#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/matrix.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t dk = 0;
  std::uint32_t dv = 0;
  std::uint32_t bk = 64;  // keys of a block
  std::uint32_t subgroups = 4;
  std::uint32_t subgroup = 32;  // invocations of one
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  bool vec = false;
  bool q_vec = false;
  bool y_vec = false;
  bool mask = false;
  bool mask_vec = false;
  bool cap = false;
  bool sinks = false;
  bool lse = false;
  bool partial = false;

  static constexpr auto fields = std::tuple{field("DK", &Variant::dk),
                                            field("DV", &Variant::dv),
                                            field("BK", &Variant::bk),
                                            field("SGS", &Variant::subgroups),
                                            field("SG", &Variant::subgroup),
                                            field("MM", &Variant::mm),
                                            field("MN", &Variant::mn),
                                            field("MK", &Variant::mk),
                                            field("VEC", &Variant::vec),
                                            field("Q_VEC", &Variant::q_vec),
                                            field("Y_VEC", &Variant::y_vec),
                                            field("MASK", &Variant::mask),
                                            field("MASK_VEC", &Variant::mask_vec),
                                            field("CAP", &Variant::cap),
                                            field("SINKS", &Variant::sinks),
                                            field("LSE", &Variant::lse),
                                            field("PARTIAL", &Variant::partial)};
};

/// Software devices compile what they emulate for seconds, so that they get small tiles.
struct Tile {
  std::uint32_t subgroups = 4;
  std::uint32_t keys = 64;
};

constexpr Tile tile_for(const Caps& caps) {
  return caps.software ? Tile{.subgroups = 2, .keys = 16} : Tile{};
}

std::uint64_t block_queries(const MatrixConfig& shape, const Caps& caps) {
  return std::uint64_t{tile_for(caps).subgroups} * shape.m;
}

std::uint64_t workgroup_bytes(const MatrixConfig& shape, std::uint64_t dk, std::uint64_t dv,
                              const Caps& caps) {
  const Tile tile = tile_for(caps);
  const std::uint64_t rows = block_queries(shape, caps);
  return std::max<std::uint64_t>(rows, tile.keys) * (std::max(dk, dv) / 8 + 1) * 16 +
         rows * (tile.keys / 2 + 4 + tile.keys / 4 + 2) * 8 + std::uint64_t{tile.subgroups} * 4;
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
  const std::uint32_t invocations = tile_for(caps).subgroups * caps.subgroup_max;
  const std::uint64_t dk = matrix_size(problem.size());
  const std::uint64_t dv = matrix_size(problem.value_size());
  const std::uint64_t bytes = workgroup_bytes(*shape, dk, dv, caps);
  if (dk > 128 || dv > 128 || bytes > caps.workgroup_bytes ||
      invocations > caps.workgroup_invocations) {
    return fail(ErrorCode::unsupported,
                "Heads of {} and {} elements need {} bytes of workgroup memory and {} "
                "invocations; the kernel takes heads of up to 128, and this device has {} and {}.",
                problem.size(), problem.value_size(), bytes, invocations, caps.workgroup_bytes,
                caps.workgroup_invocations);
  }
  return {};
}

/// Software devices emulate matrix units, slowly; few queries leave most of a tile empty.
bool worth(const Problem& problem, const Caps& caps) {
  return !caps.software && problem.queries() > 8;
}

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  const auto shape = matrix_shape(caps);
  if (!shape) return 1;
  const std::uint64_t groups = problem.batches() * problem.heads() *
                               ceil_div(problem.queries(), block_queries(*shape, caps));
  const std::uint64_t wanted = busy_workgroups(caps) / 2;
  if (groups * 2 > wanted) return 1;
  return std::min(wanted / groups, ceil_div<std::uint64_t>(problem.keys(), 8 * split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const auto shape = matrix_shape(caps);
  if (!shape) return fail(ErrorCode::internal, "There are no matrix units for this launch.");
  const bool partial = splits.part.given();
  const Variant variant{.dk = narrow(matrix_size(problem.size())),
                        .dv = narrow(matrix_size(problem.value_size())),
                        .bk = tile_for(caps).keys,
                        .subgroups = tile_for(caps).subgroups,
                        .subgroup = caps.subgroup_max,
                        .mm = shape->m,
                        .mn = shape->n,
                        .mk = shape->k,
                        .vec = rows_aligned(problem.k, 8) && rows_aligned(problem.v, 8),
                        .q_vec = problem.q.dtype == DType::f16 && rows_aligned(problem.q, 8),
                        .y_vec = !partial && rows_aligned(problem.y, 4),
                        .mask = problem.mask.given(),
                        .mask_vec = problem.mask.given() && rows_aligned(problem.mask, 4),
                        .cap = problem.rules.soft_cap > 0,
                        .sinks = !partial && problem.sinks.given(),
                        .lse = !partial && problem.lse.given(),
                        .partial = partial};
  Params params = params_of(problem, splits);
  params.blocks = narrow(ceil_div(problem.queries(), block_queries(*shape, caps)));
  const std::uint64_t jobs = problem.batches() * problem.heads() * params.blocks * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/matrix.wgsl";
  out.label = formatted("attention matrix {}x{}", variant.dk, variant.dv);
  out.features = {.f16 = true, .subgroups = true, .subgroup_matrix = true};
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_operands(out, problem, splits, {.query = 8, .key = 8, .mask = 4});
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
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

constinit const Kernel matrix_kernel{"matrix", can, worth, splits, launch};

}  // namespace weft::ops::attention
