#pragma once

#include "weft/ops.hpp"

namespace weft {

// Linear algebra of many small matrices […, n, n] of floats, computed in f32; a matrix belongs to
// one workgroup. solve_triangular() is beside these.

/// The lower triangle L with L · Lᵀ = a, for symmetric matrices with positive eigenvalues (the
/// upper triangle of a is not looked at); NaN for others.
Tensor cholesky(In a);
/// X with a · X = b for b […, n, k], by elimination with pivots; infinite or NaN where a has no
/// inverse.
Tensor solve(In a, const Tensor& b);
/// The inverse, a⁻¹.
Tensor inverse(In a);
/// The determinants […].
Tensor det(In a);

/// A determinant whose size no float may hold: sign · exp(logabsdet).
struct Slogdet {
  Tensor sign;       ///< […]: 1, -1, or 0 where there is no inverse.
  Tensor logabsdet;  ///< […]: -infinity where there is no inverse.
};
/// The signs of determinants and the logarithms of their sizes. Gradients flow through the latter.
Slogdet slogdet(In a);

}  // namespace weft
