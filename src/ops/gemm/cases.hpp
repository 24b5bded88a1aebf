#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/case.hpp"
#include "ops/gemm/gemm.hpp"

namespace weft::ops::gemm {

using Shape = std::vector<std::uint64_t>;

/// A product to test or to measure, in terms of its sizes.
struct Spec {
  std::string name;
  std::uint64_t m = 1;
  std::uint64_t n = 1;
  std::uint64_t k = 1;
  DType a = DType::f32;
  DType b = DType::f32;
  DType c = DType::f32;
  Shape a_batch{};
  Shape b_batch{};
  Shape batch{};          ///< Batches of c.
  bool a_turned = false;  ///< Stored transposed.
  bool b_turned = false;
  bool c_turned = false;
  std::uint64_t pad = 0;  ///< Layout of all three, see TensorSpec.
  std::uint64_t offset = 0;
  std::uint64_t element_step = 1;
  float alpha = 1;
  float beta = 0;
  std::string_view activation = "none";
  std::optional<Shape> bias{};
  DType bias_type = DType::f32;
  std::optional<Shape> a_scale{};
  std::optional<Shape> b_scale{};
  Fill fill = Fill::integers;
  bool allow_f16 = false;
  std::string_view kernel = {};
  std::optional<RegisterTile> register_tile{};
  std::optional<MatrixTile> matrix_tile{};
  std::optional<VectorTile> vector_tile{};
  std::uint32_t parts = 0;
  bool bench = false;
};

/// The case of a product, with its reference in double.
Case make_case(const Spec& spec);

/// Tiles that the device's own choice would not reach. Those of other devices fall back to what
/// this one has.
void add_tiles(std::vector<Case>& out);

/// Products with one or a few rows or columns, b along k and along n, aligned and not.
void add_vectors(std::vector<Case>& out, Random& random);

/// The benchmarks, tile sweeps included.
void add_benchmarks(std::vector<Case>& out);

}  // namespace weft::ops::gemm
