#pragma once

#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::mul_mat {

/// y[…, n, m] = Σ x[…, n, k] · weights[…, m, k], with weights of any type; sums are f32.
struct Args {
  View
      weights;  ///< […, M, K] of f32, f16, bf16 (any strides) or a quantized type; leading dimensions broadcast.
  View x;  ///< […, N, K] of f32, f16 or bf16, any strides.
  View y;  ///< […, N, M] of f32.
  /// Forces how quantized weights are multiplied: "vector" (few columns at a time, straight from the blocks), also
  /// with the rows that a team of invocations works on ("vector_1", "vector_2", "vector_4", "vector_8"), "decode" (to
  /// f16 in scratch, then as any matrix) or "halve" (also x as f16). Empty: by the number of columns.
  std::string_view kernel = {};
};

/// y[t, u, m] = Σ x[t, u or 0, k] · weights[ids[t, u], m, k]: each row of x has a matrix of its own. Rows whose id is
/// no matrix become 0.
struct IdArgs {
  View weights;  ///< [E, M, K] as in Args.
  View x;        ///< [T, U or 1, K] of f32, f16 or bf16.
  View ids;      ///< [T, U] of i32.
  View y;        ///< [T, U, M] of f32.
  /// Forces "vector" (one row of x at a time), "grouped" (rows of one matrix together) or "matrix" (the same by matrix
  /// units). Empty: by their number.
  std::string_view kernel = {};
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const IdArgs& args, const Caps& caps);

}  // namespace weft::ops::mul_mat
