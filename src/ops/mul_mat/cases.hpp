#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/case.hpp"

/// What the files of cases share.
namespace weft::ops::mul_mat {

using Shape = std::vector<std::uint64_t>;

/// How a product is tested.
struct Spec {
  std::string name;
  DType type = DType::q4_0;
  std::uint64_t m = 1;
  std::uint64_t n = 1;
  std::uint64_t k = 1;
  Shape weight_batch{};
  Shape batch{};
  std::string_view kernel{};
  DType x = DType::f32;
  double x_high = 1;
  double precision = 1;  ///< Epsilons, in units of what sums in f32 lose.
  bool exact = false;
};

/// A product as a case.
Case make_case(const Spec& spec);

/// T rows of x with U ids each, of E matrices, where sizes are E, M, K, T and U; some ids are no
/// matrix.
Case id_case(std::string name, DType type, Shape sizes, std::uint64_t x_slots,
             std::string_view kernel);

/// Cases and benchmarks for x rounded to 8 bits.
void add_packed_cases(std::vector<Case>& out);

/// Cases for products that share a launch.
void add_join_cases(std::vector<Case>& out);

}  // namespace weft::ops::mul_mat
