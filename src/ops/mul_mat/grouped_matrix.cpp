#include <utility>

#include "base/format.hpp"
#include "ops/gemm/tiles.hpp"
#include "ops/mul_mat/ids.hpp"
#include "ops/quant/job.hpp"
#include "ops/tables.hpp"

namespace weft::ops::mul_mat {
namespace {

struct Variant {
  DType qtype = DType::q4_0;
  bool aligned = false;
  std::uint32_t width = 32;
  std::uint32_t rows = tile_rows;
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  std::uint32_t subgroup = 32;
};

/// Rows and width of tiles where large kernels take long to compile.
constexpr std::uint32_t small_tile = 16;

}  // namespace

std::uint32_t matrix_width(const IdProblem& problem, const Caps& caps) {
  const View& weights = problem.weights;
  const bool floats = weights.dtype == DType::f16 && quant::rows_in_chunks(weights, 8);
  if (!caps.subgroup_matrix || !caps.f16 || !caps.subgroups) return 0;
  if (!(is_quantized(weights.dtype) || floats) || problem.x.shape[2] % 32 != 0) return 0;
  const auto matrices = gemm::choose_matrix(64, 64, 64, 1, caps);
  const std::uint32_t half = caps.traits.slow_compile ? 8 : 16;
  if (!matrices || half % matrices->tile.mm != 0 || half % matrices->tile.mn != 0 ||
      32 % matrices->tile.mk != 0 || 4 * caps.subgroup_max > caps.workgroup_invocations) {
    return 0;
  }
  if (caps.traits.slow_compile) return small_tile;
  // Wide tiles decode weights less often, narrow ones waste less where matrices have few rows. Measured on an H200 with 32
  // rows for each of 128 matrices of q4_0: 304 us with wide tiles, 363 with narrow ones.
  return problem.ids.count() > 20 * problem.all_experts ? 64 : 32;
}

Result<Dispatch> launch_grouped_matrix(const IdProblem& problem, const Assignment& assignment,
                                       const View& halves, const View& scales, const Caps& caps) {
  const View& weights = problem.weights;
  const auto matrices = gemm::choose_matrix(64, 64, 64, 1, caps);
  if (!matrices) {
    return fail(ErrorCode::unsupported, "This device has no matrix units for f16.");
  }
  const Variant variant{.qtype = weights.dtype,
                        .aligned = is_quantized(weights.dtype) && quant::blocks_aligned(weights),
                        .width = matrix_width(problem, caps),
                        .rows = caps.traits.slow_compile ? small_tile : tile_rows,
                        .mm = matrices->tile.mm,
                        .mn = matrices->tile.mn,
                        .mk = matrices->tile.mk,
                        .subgroup = caps.subgroup_max};
  GroupedParams params = grouped_params(problem, assignment, caps);
  // Strides of plain weights count bytes here, as those of blocks do.
  params.w_expert *= size_of(weights.dtype);
  params.w_row *= size_of(weights.dtype);
  Launch out;
  out.source = "mul_mat/grouped_matrix.wgsl";
  out.label = formatted("mul_mat {} matrix by id", name(weights.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands = {{.name = "w", .view = weights, .unit = is_quantized(weights.dtype) ? 1U : 4U},
                  {.name = "x", .view = halves, .unit = 4},
                  {.name = "scales", .view = scales},
                  {.name = "order", .view = assignment.order},
                  {.name = "tiles", .view = assignment.tiles},
                  {.name = "y", .view = problem.y, .access = Access::write}};
  add_codebook(out, weights.dtype);
  out.features = {.f16 = true, .subgroups = true, .subgroup_matrix = true};
  out.grid = grouped_grid(problem, params, assignment, variant.rows);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::mul_mat
