#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace weft::ops::random {

/// Rows of a table of quantiles (tools/make_random_tables.py); each has the four coefficients of a
/// cubic, as f32.
inline constexpr std::uint32_t quantile_rows = 448;

inline constexpr std::array<std::uint32_t, 4UL * quantile_rows> normal_table{
#include "ops/random/normal.inc"
};

/// Above the median, below it, and then 16 rows of logarithms.
inline constexpr std::array<std::uint32_t, 8UL * quantile_rows + 64> gumbel_table{
#include "ops/random/gumbel_high.inc"
#include "ops/random/gumbel_low.inc"
#include "ops/random/log.inc"
};

}  // namespace weft::ops::random
