#include <optional>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "ops/matrices.hpp"
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
  std::string_view component = "f16";
};

/// Rows and width of tiles where large kernels take long to compile.
constexpr std::uint32_t small_tile = 16;

/// Matrices that divide half a tile, which is what a subgroup has of either side.
std::optional<Matrices> matrices_for(const Caps& caps) {
  const std::uint32_t half = caps.traits.slow_compile ? 8 : 16;
  return float_matrices(caps, [&](const Matrices& found) {
    return half % found.shape.m == 0 && half % found.shape.n == 0 && 32 % found.shape.k == 0 &&
           4 * found.subgroup <= caps.workgroup_invocations;
  });
}

}  // namespace

std::uint32_t matrix_width(const IdProblem& problem, const Caps& caps) {
  const View& weights = problem.weights;
  const bool floats = weights.dtype == DType::f16 && quant::rows_in_chunks(weights, 8);
  if (!(is_quantized(weights.dtype) || floats) || problem.x.shape[2] % 32 != 0) return 0;
  if (!matrices_for(caps)) return 0;
  if (caps.traits.slow_compile) return small_tile;
  // Wide tiles decode weights less often, narrow ones waste less where matrices have few rows.
  // Measured on an H200 with 32 rows for each of 128 matrices of q4_0: 304 us with wide tiles, 363
  // with narrow ones.
  return problem.ids.count() > 20 * problem.all_experts ? 64 : 32;
}

Result<Dispatch> launch_grouped_matrix(const IdProblem& problem, const Assignment& assignment,
                                       const View& halves, const View& scales, const Caps& caps) {
  const View& weights = problem.weights;
  const auto matrices = matrices_for(caps);
  if (!matrices) {
    return fail(ErrorCode::unsupported, "This device has no matrix units for floats.");
  }
  const Variant variant{.qtype = weights.dtype,
                        .aligned = is_quantized(weights.dtype) && quant::blocks_aligned(weights),
                        .width = matrix_width(problem, caps),
                        .rows = caps.traits.slow_compile ? small_tile : tile_rows,
                        .mm = matrices->shape.m,
                        .mn = matrices->shape.n,
                        .mk = matrices->shape.k,
                        .subgroup = matrices->subgroup,
                        .component = matrices->component()};
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
  out.features = features_of(*matrices, caps);
  out.grid = grouped_grid(problem, params, assignment, variant.rows);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::mul_mat
