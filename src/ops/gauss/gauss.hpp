#pragma once

#include "ops/plan.hpp"

namespace weft::ops::gauss {

/// Elimination with row pivots on many small matrices, one workgroup each: X with A · X = B, and
/// the determinant of A, as a number or as a sign and the logarithm of its size.
struct Args {
  View a;       ///< […, n, n] of f32, any strides, n at least 1.
  View b{};     ///< Optional, with x: […, n, k] of f32. Batches of 1 repeat, as those of `a`.
  View x{};     ///< Optional: […, n, k] of f32; may be the same view as b.
  View det{};   ///< Optional: […] of f32.
  View sign{};  ///< Optional, with log and det: […] of f32.
  View log{};   ///< […] of f32: -infinity where the determinant is 0.
};

/// The lower triangle L with L · Lᵀ = A, and zeros above it. NaN where A has an eigenvalue that is
/// not positive.
struct CholeskyArgs {
  View a;  ///< […, n, n] of f32, any strides; what lies above the diagonal is not read.
  View y;  ///< […, n, n] of f32.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const CholeskyArgs& args, const Caps& caps);

}  // namespace weft::ops::gauss
