#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

// Statistics, norms and products that are made of other operations. Reductions go over the named
// axes, or over all of them when none are named. 16-bit floats are computed in f32.

/// Choices for var() and std().
struct VarOptions {
  double correction = 0;  ///< The sum of squares is divided by the number of elements less this.
  bool keep_dims = false;
};
/// The variance: the mean of the squared distances from the mean. NaN where no element is left to
/// divide by.
Tensor var(In x, const Dims& axes = {}, const VarOptions& options = {});
/// The standard deviation, the square root of var().
Tensor std(In x, const Dims& axes = {}, const VarOptions& options = {});

/// log(Σ exp(x)), without overflow.
Tensor logsumexp(In x, const Dims& axes = {}, bool keep_dims = false);

/// (Σ |x|^p)^(1/p), without overflow: p = 1 adds sizes, infinity takes the largest, minus infinity
/// the smallest, and 0 counts what is not 0.
Tensor norm(In x, double p = 2, const Dims& axes = {}, bool keep_dims = false);

/// How many elements are not 0: i32.
Tensor count_nonzero(In x, const Dims& axes = {}, bool keep_dims = false);

/// The covariances [variables, variables] of observations in the columns of x [variables,
/// observations].
Tensor cov(In x, double correction = 1);

/// x, but at least `low` and at most `high`, where these are given.
Tensor clip(In x, std::optional<double> low, std::optional<double> high);

/// Whether |a - b| <= atol + rtol * |b|. What is infinite is close to itself alone, and NaN to
/// nothing, or with `equal_nan` to NaN.
Tensor isclose(In a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
/// Whether all elements are. Waits.
[[nodiscard]] bool allclose(In a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                            bool equal_nan = false);

/// Choices for cdist().
struct CdistOptions {
  double p = 2;  ///< As for norm().
  /// With p = 2: by a matrix product, for many long rows; distances that are small against the rows
  /// become inexact.
  bool by_product = false;
};
/// The distances […, M, N] between the rows of a […, M, K] and those of b […, N, K].
Tensor cdist(In a, const Tensor& b, const CdistOptions& options = {});

/// Sums of products by the letters of the dimensions: "ij,jk->ik" is the matrix product, "bii->b" a
/// trace for each b. Letters that are not behind the arrow are summed over; without an arrow, those
/// that appear once are kept, in the order of the alphabet. "..." stands for dimensions that
/// broadcast. With several tensors, the order of products is the cheapest one.
Tensor einsum(std::string_view letters, const std::vector<Tensor>& tensors,
              Where where = Where::current());

/// The sum of products over the last `axes` dimensions of a and the first ones of b.
Tensor tensordot(In a, const Tensor& b, std::uint64_t axes = 2);
/// The same over pairs of dimensions, one of a and one of b each.
Tensor tensordot(In a, const Tensor& b, const Dims& axes_a, const Dims& axes_b);

/// The products [M, N] of each element of a with each of b.
Tensor outer(In a, const Tensor& b);
/// Sums of products over the last dimensions of both: […, …].
Tensor inner(In a, const Tensor& b);
/// Kronecker's product: b multiplied by each element of a, at its place.
Tensor kron(In a, const Tensor& b);
/// The vector product of three numbers each along an axis; a and b broadcast.
Tensor cross(In a, const Tensor& b, int axis = -1);

}  // namespace weft
