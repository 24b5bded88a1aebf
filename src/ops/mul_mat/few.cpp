// Products of 9 to 64 columns: weights are decoded on their way to the matrix units.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/fields.hpp"
#include "ops/gemm/shape.hpp"
#include "ops/iterate.hpp"
#include "ops/matrices.hpp"
#include "ops/mul_mat/problem.hpp"
#include "ops/quant/job.hpp"
#include "ops/tables.hpp"
#include "ops/tile_families.hpp"

namespace weft::ops::mul_mat {
namespace {

constexpr std::uint64_t piece_elements = 16;

struct Variant {
  std::string_view qtype;
  bool aligned = false;
  std::uint32_t bm = 64;
  std::uint32_t bn = 16;
  std::uint32_t bk = 128;
  std::uint32_t subgroup_count = 4;
  std::uint32_t subgroup = 32;
  std::string_view component = "f16";
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  bool ahead = false;
  bool m_vec = false;
};

struct FewParams {
  std::uint32_t jobs = 0;
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t pieces = 0;  // of 16 elements of k
  std::uint32_t splits = 1;
  std::uint32_t split_pieces = 0;
  std::uint32_t w_row = 0;  // bytes
  std::uint32_t x_column = 0;
};

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// How a workgroup divides its work, for Traits::few_tile to choose among.
struct Tile {
  std::uint32_t bm = 64;
  std::uint32_t bk = 64;
  std::uint32_t subgroup_count = 4;
};
constexpr std::array<Tile, 6> named_tiles{
    {{64, 64, 4}, {128, 64, 8}, {128, 64, 4}, {64, 128, 4}, {32, 64, 2}, {16, 32, 2}}};

std::uint32_t tile_bytes(const Variant& v) {
  const std::uint32_t tiles = (v.bm + v.bn) * (v.bk / (v.component == "f32" ? 4 : 8) + 1);
  const std::uint32_t sums = v.subgroup_count * v.bn * (v.bm / v.subgroup_count / 4 + 1);
  return 16 * std::max(tiles, sums);
}

/// Rows of weights times splits of k that keep a processor busy: four workgroups of 64 rows.
constexpr std::uint64_t busy_rows = 256;

/// Whether a tile divides evenly among the invocations, and fits the device.
bool fits(const Variant& v, const Caps& caps) {
  const std::uint32_t threads = v.subgroup_count * v.subgroup;
  return v.bm % (v.subgroup_count * v.mm) == 0 && v.bk % v.mk == 0 && v.bn % v.mn == 0 &&
         std::uint64_t{v.bm} * v.bk / piece_elements % threads == 0 &&
         tile_bytes(v) <= caps.workgroup_bytes && threads <= caps.workgroup_invocations;
}

std::optional<Matrices> matrices_for_few(const Caps& caps) {
  return float_matrices(caps, [](const Matrices& found) {
    return found.shape.m <= 16 && found.shape.n <= 16 && found.shape.k <= 16;
  });
}

/// The tile for a product, or none where the device has no matrices for it. Devices that compile
/// slowly get a small one.
std::optional<Variant> variant_of(const Problem& problem, const Caps& caps) {
  const auto matrices = matrices_for_few(caps);
  if (!matrices) return std::nullopt;
  const bool floats = matrices->shape.component == MatrixType::f32;
  const DType type = problem.weights.dtype;
  Variant variant{.qtype = name(type),
                  .aligned = is_quantized(type) && quant::blocks_aligned(problem.weights),
                  .subgroup = matrices->subgroup,
                  .component = matrices->component(),
                  .mm = matrices->shape.m,
                  .mn = matrices->shape.n,
                  .mk = matrices->shape.k,
                  .m_vec = problem.m() % 4 == 0};
  variant.bn = u32(round_up<std::uint64_t>(problem.n(), matrices->shape.n));
  if (variant.bn > 16) variant.bn = u32(round_up<std::uint64_t>(variant.bn, 32));
  if (variant.bn > 64) return std::nullopt;
  variant.bk = floats ? 32 : 64;
  variant.ahead =
      type == DType::f16;  // 47 µs against 50 with 16 columns; decoders need the registers.
  // Measured on an H200 with q4_0: 59 µs against 80 with 64 rows and 63 with eight subgroups; 107
  // against 89 with 64 columns.
  if (variant.bn == 32) variant.bm = 128;
  if (caps.traits.slow_compile) {
    variant.bm = 16;
    variant.bk = 32;
    variant.subgroup_count = 2;
    variant.ahead = true;
  }
  if (const std::uint32_t number = caps.traits.few_tile;
      number > 0 && number <= named_tiles.size()) {
    Variant named = variant;
    named.bm = named_tiles[number - 1].bm;
    named.bk = named_tiles[number - 1].bk;
    named.subgroup_count = named_tiles[number - 1].subgroup_count;
    if (fits(named, caps)) return named;
  }
  if (!fits(variant, caps)) return std::nullopt;
  return variant;
}

}  // namespace

std::uint32_t few_tile_count() { return named_tiles.size(); }
std::vector<std::string> few_tiles() { return texts_of_tiles(named_tiles); }

bool can_few(const Problem& problem, const Caps& caps) {
  const View& weights = problem.weights;
  const bool halves = weights.dtype == DType::f16;
  if (!is_quantized(weights.dtype) && !halves) return false;
  if (halves && (weights.stride[5] != 1 || !quant::rows_in_chunks(weights, 8))) return false;
  return problem.k() % piece_elements == 0 && problem.batches() == 1 &&
         fits_device(problem, caps) && variant_of(problem, caps).has_value() &&
         problem.n() * problem.m() * sizeof(float) * 4 <= binding_budget(caps);
}

Status add_few(Stages& stages, Problem problem, const Caps& caps) {
  const auto variant = variant_of(problem, caps);
  if (!variant) return fail(ErrorCode::internal, "There are no matrix units for this product.");
  const View halves = stages.scratch(DType::f16, problem.x.extents());
  problem.x_scales = add_halved(stages, problem.x, halves, caps);
  problem.x = halves;
  const std::uint64_t pieces = problem.k() / piece_elements;
  const std::uint64_t step = variant->bk / piece_elements;
  const std::uint64_t tiles = ceil_div<std::uint64_t>(problem.m(), variant->bm);
  const std::uint64_t busy = caps.traits.groups(busy_rows / variant->bm);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(busy / tiles, 1, ceil_div(pieces, step));
  FewParams params{.m = u32(problem.m()), .n = u32(problem.n()), .pieces = u32(pieces)};
  params.split_pieces = u32(round_up(ceil_div(pieces, wanted), step));
  params.splits = u32(ceil_div<std::uint64_t>(pieces, params.split_pieces));
  params.jobs = u32(tiles * params.splits);
  params.w_row = u32(problem.weights.stride[4] / block_elements(problem.weights.dtype) *
                     block_bytes(problem.weights.dtype));
  params.x_column = u32(problem.k());
  const View part = stages.scratch(DType::f32, {params.splits * problem.n() * problem.m()});
  Launch out;
  out.source = "mul_mat/few.wgsl";
  out.label = formatted("mul_mat {} few {}", variant->qtype, variant->bn);
  const auto matrices = matrices_for_few(caps);
  if (matrices) out.features = features_of(*matrices, caps);
  out.constants = constants_of(*variant);
  out.params = block_of(params);
  out.operands = {
      {.name = "w", .view = problem.weights, .unit = is_quantized(problem.weights.dtype) ? 1U : 4U},
      {.name = "x", .view = halves, .unit = 4},
      {.name = "part", .view = part, .access = Access::write, .unit = variant->m_vec ? 4U : 1U}};
  add_codebook(out, problem.weights.dtype);
  out.grid = grid_1d(params.jobs, caps);
  stages.add(make_dispatch(std::move(out), caps));
  // The rest is what comes behind any product.
  const View shape = View::dense(DType::f16, problem.weights.extents());
  const auto products = gemm::normalize({.a = problem.x,
                                         .b = shape.transpose(4, 5),
                                         .c = problem.y,
                                         .bias = problem.bias,
                                         .a_scale = problem.x_scales,
                                         .activation = problem.activation,
                                         .scalars = problem.scalars});
  if (!products) return std::unexpected(products.error());
  stages.add(gemm::launch_reduce(products->front(), part, caps));
  return {};
}

}  // namespace weft::ops::mul_mat
