#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::sampled_matmul {

/// The elements of a · bᵀ at the places of a sparse matrix in compressed rows: y[i] = Σ a[row, k] ·
/// b[columns[i], k], where `row` is that of element i. What is no row or column gives 0.
struct Args {
  View starts;              ///< i32 [rows + 1], not descending.
  View columns;             ///< i32 [count].
  View a;                   ///< [rows, K] of f32, f16 or bf16, any strides.
  View b;                   ///< [all columns, K] of any of these.
  View y;                   ///< f32 [count].
  std::uint32_t lanes = 0;  ///< Invocations that share an element; 0: as the device likes.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::sampled_matmul
