#include "ops/tile_families.hpp"

#include <span>

#include "base/hash.hpp"
#include "ops/attention/attention.hpp"
#include "ops/conv/conv.hpp"
#include "ops/gemm/tiles.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/reduce/reduce.hpp"

namespace weft::ops {

std::vector<TileFamily> tile_families() {
  return {
      {"products", "gemm", &Traits::gemm_tile, gemm::gemm_tile_count(), gemm::gemm_tiles()},
      {"products on matrix units", "gemm", &Traits::matrix_tile, gemm::matrix_tile_count(),
       gemm::matrix_tiles()},
      {"products of few rows", "gemm", &Traits::vector_tile, gemm::vector_tile_count(),
       gemm::vector_tiles()},
      {"quantized products", "mul_mat", &Traits::quantized_tile, mul_mat::quantized_tile_count(),
       mul_mat::quantized_tiles()},
      {"products of some columns", "mul_mat", &Traits::few_tile, mul_mat::few_tile_count(),
       mul_mat::few_tiles()},
      {"attention", "attention", &Traits::attention_tile, attention::attention_tile_count(),
       attention::attention_tiles()},
      {"reductions", "reduce", &Traits::reduce_tile, reduce::reduce_tile_count(),
       reduce::reduce_tiles()},
      {"convolutions", "conv", &Traits::conv_tile, conv::conv_tile_count(), conv::conv_tiles()}};
}

std::uint64_t tile_lists_hash() {
  std::string text;
  for (const TileFamily& family : tile_families()) {
    text += formatted("{}:", family.name);
    for (const std::string& tile : family.tiles) text += formatted("{};", tile);
  }
  return hash_bytes(std::as_bytes(std::span(text)));
}

}  // namespace weft::ops
