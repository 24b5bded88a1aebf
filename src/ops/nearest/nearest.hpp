#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::nearest {

/// How far two rows are apart.
enum class Metric : std::uint8_t {
  euclidean,  ///< The length of their difference.
  cosine,     ///< 1 - their inner product: for rows of length 1.
  inner,      ///< Their inner product; the largest are nearest.
};

/// The most neighbours that are found at a time: more take several passes over all points, each of
/// which finds those behind the ones before.
inline constexpr std::uint64_t pass_neighbours = 128;

/// For each query the nearest of some points, nearest first and of equals the one with the lower
/// index. NaN is further away than everything else. Differences and products are summed in f32; no
/// matrix of them is in memory.
struct Args {
  View queries;    ///< [M, K] of f32, f16 or bf16, any strides.
  View points;     ///< [N, K] of these types.
  View distances;  ///< f32 [M, k], k from 1 to N.
  View indices;    ///< i32 [M, k].
  Metric metric = Metric::euclidean;
};

/// How far all points are from all queries: the lengths of their differences, which are summed in
/// f32 and are neither too large nor too small for that. Differences are in no memory.
struct DistanceArgs {
  View queries;  ///< [M, K] of f32, f16 or bf16, any strides.
  View points;   ///< [N, K] of these types.
  View y;        ///< f32 [M, N].
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const DistanceArgs& args, const Caps& caps);

}  // namespace weft::ops::nearest
