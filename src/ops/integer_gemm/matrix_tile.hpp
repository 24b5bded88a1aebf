#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::integer_gemm {

/// How matrix_products.wgsl cuts its work.
struct MatrixTile {
  std::string_view component = "i8";
  std::uint32_t bm = 64;
  std::uint32_t bn = 64;
  std::uint32_t bk = 32;
  std::uint32_t sm = 2;
  std::uint32_t sn = 2;
  std::uint32_t mm = 0;
  std::uint32_t mn = 0;
  std::uint32_t mk = 0;
  std::uint32_t subgroup = 0;
};

/// The tile for a product with m x n results, where matrix units are worth it or `kernel` is
/// "matrix".
std::optional<MatrixTile> matrix_tile(std::string_view kernel, std::uint64_t m, std::uint64_t n,
                                      const Caps& caps);

/// Whether a tile, or the plain kernel, takes numbers of this type as others: with their highest
/// bit turned.
bool turns(DType type, const std::optional<MatrixTile>& tile);

/// What a kernel with this tile enables.
Features features_of(const MatrixTile& tile, const Caps& caps);

/// Whether there is a kernel of this name ("": any) for this device.
Status check_kernel(std::string_view kernel, const Caps& caps);

}  // namespace weft::ops::integer_gemm
