#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

// Neighbours, groups of rows, counts and ranks.

/// Choices for knn().
struct KnnOptions {
  std::string_view metric = "euclidean";  ///< "euclidean", "cosine" (1 - the cosine) or "inner"
                                          ///< (the largest inner products).
};
/// Nearest points, nearest first.
struct Neighbours {
  Tensor distances;  ///< f32 [M, k]; for "inner" the products.
  Tensor indices;    ///< i32 [M, k].
};
/// For each query [M, K] the k nearest of some points [N, K], of equals the one with the lower
/// index, exactly: tile by tile, so that no matrix [M, N] is in memory. NaN is further away than
/// everything else. Every 128 neighbours take a pass over all points.
Neighbours knn(In queries, const Tensor& points, std::uint64_t k, const KnnOptions& options = {});

/// Rows of x [n, …] that have the same id (i32 [n], 0 up to count), as [count, …]: their sum, mean,
/// largest or least elements. Rows with another id are left out; a segment without rows is 0. Rows
/// are added in an order that is the same in every run.
Tensor segment_sum(In x, const Tensor& ids, std::uint64_t count);
Tensor segment_mean(In x, const Tensor& ids, std::uint64_t count);
Tensor segment_max(In x, const Tensor& ids, std::uint64_t count);
Tensor segment_min(In x, const Tensor& ids, std::uint64_t count);

/// How many elements of x (i32) are 0, 1, … count - 1: i32 [count]; with weights (f32, of x's
/// shape) the sums of those. Others are left out.
Tensor bincount(In x, std::uint64_t count, const Tensor& weights = {});
/// How many elements lie in each of `bins` equal parts of the range from low to high, which belongs
/// to the last part: i32 [bins].
Tensor histogram(In x, std::uint64_t bins, double low, double high);

/// Runs of equal elements of x [n]. The results have n elements; behind the runs are zeros.
struct Runs {
  Tensor values;   ///< The element of each run.
  Tensor counts;   ///< i32: how long it is.
  Tensor inverse;  ///< i32: the run of each element of x.
  Tensor size;     ///< i32[]: how many runs there are.
};
Runs unique_consecutive(In x);

/// cummax() and cummin(), and where each extreme was found: the last of equals, i32.
Sorted cummax_indices(In x, int axis);
Sorted cummin_indices(In x, int axis);

/// The value below which a share q (0 to 1) of the elements along an axis lie: in f32, or the type
/// of x if that is a float type. `method` is one of numpy's: "linear" (between two elements in
/// proportion), "hazen", "weibull", "median_unbiased", …; "lower", "higher", "nearest",
/// "inverted_cdf" and "closest_observation" give one of the elements, in their own type. NaN where
/// an element is NaN.
Tensor quantile(In x, double q, int axis = -1, bool keep_dims = false,
                std::string_view method = "linear");
/// The middle element along an axis, or the mean of the two in the middle.
Tensor median(In x, int axis = -1, bool keep_dims = false);
/// The most frequent element along an axis, the least of equally frequent ones, and a place where
/// it is (its last).
Sorted mode(In x, int axis = -1, bool keep_dims = false);

}  // namespace weft
