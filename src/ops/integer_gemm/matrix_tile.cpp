#include "ops/integer_gemm/matrix_tile.hpp"

#include "ops/matrices.hpp"

namespace weft::ops::integer_gemm {
namespace {

constexpr std::uint64_t least_sides = 32;  // Smaller ones leave most of a tile of matrices empty.

std::uint64_t workgroup_bytes(const MatrixTile& v) {
  const std::uint64_t strips = std::uint64_t{v.sm} * v.sn * v.mm * (v.bn / v.sn / 4 + 1) * 16;
  return std::uint64_t{v.bm + v.bn} * (v.bk / 8 + 1) * 8 + 2 * strips +
         std::uint64_t{v.sn} * v.bm * v.mn * 4;
}

/// The tile for a device; a small one where compiling is slow.
std::optional<MatrixTile> tile_for(const Caps& caps) {
  MatrixTile tile;
  if (caps.traits.slow_compile) tile.bm = tile.bn = tile.bk = 16;
  const auto found = byte_matrices(caps, [&](const Matrices& m) {
    return tile.bm / tile.sm % m.shape.m == 0 && tile.bn / tile.sn % m.shape.n == 0 &&
           tile.bk % m.shape.k == 0 && m.shape.k % 8 == 0 && m.shape.n % 4 == 0 &&
           tile.sm * tile.sn * m.subgroup <= caps.workgroup_invocations;
  });
  if (!found) return std::nullopt;
  tile.component = found->component();
  tile.mm = found->shape.m;
  tile.mn = found->shape.n;
  tile.mk = found->shape.k;
  tile.subgroup = found->subgroup;
  return workgroup_bytes(tile) <= caps.workgroup_bytes ? std::optional(tile) : std::nullopt;
}

}  // namespace

std::optional<MatrixTile> matrix_tile(std::string_view kernel, std::uint64_t m, std::uint64_t n,
                                      const Caps& caps) {
  if (kernel == "plain") return std::nullopt;
  const bool worth = caps.traits.matrix_units && m >= least_sides && n >= least_sides;
  return worth || kernel == "matrix" ? tile_for(caps) : std::nullopt;
}

bool turns(DType type, const std::optional<MatrixTile>& tile) {
  return (type == DType::u8) != (tile && tile->component == "u8");
}

Features features_of(const MatrixTile& tile, const Caps& caps) {
  return ops::features_of({{.component = MatrixType::i8, .result = MatrixType::i32}, tile.subgroup},
                          caps);
}

Status check_kernel(std::string_view kernel, const Caps& caps) {
  if (!kernel.empty() && kernel != "plain" && kernel != "matrix") {
    return fail(ErrorCode::not_found,
                "There is no kernel `{}` for products of whole numbers; there are `matrix` and "
                "`plain`.",
                kernel);
  }
  if (kernel == "matrix" && !tile_for(caps)) {
    return fail(ErrorCode::unsupported,
                "This device has no subgroup matrices that multiply i8 into i32 or u8 into u32.");
  }
  return {};
}

}  // namespace weft::ops::integer_gemm
