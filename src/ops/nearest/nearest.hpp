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

/// The most neighbours that one plan finds.
inline constexpr std::uint64_t most_neighbours = 128;

/// For each query the nearest of some points, nearest first and of equals the one with the lower
/// index. NaN is further away than everything else. Differences and products are summed in f32; no
/// matrix of them is in memory.
struct Args {
  View queries;    ///< [M, K] of f32, f16 or bf16, any strides.
  View points;     ///< [N, K] of these types.
  View distances;  ///< f32 [M, k], k from 1 to N and to most_neighbours.
  View indices;    ///< i32 [M, k].
  Metric metric = Metric::euclidean;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::nearest
