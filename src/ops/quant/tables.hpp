#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.hpp"

namespace weft::ops::quant {

/// Twice the values of a 4-bit float (mxfp4 and nvfp4).
inline constexpr std::array<int, 16> fp4_values{0, 1,  2,  3,  4,  6,  8,  12,
                                                0, -1, -2, -3, -4, -6, -8, -12};

/// The levels of iq4_nl and iq4_xs.
inline constexpr std::array<int, 16> iq4_values{-127, -104, -83, -65, -49, -35, -22, -10,
                                                1,    13,   25,  38,  53,  69,  89,  113};

// The codebooks; shaders read them as tables (ops/tables.hpp).
inline constexpr std::array<std::uint32_t, 1024> iq1_grid{
#include "ops/quant/grid_iq1.inc"
};
inline constexpr std::array<std::uint32_t, 128> iq2_xxs_grid{
#include "ops/quant/grid_iq2_xxs.inc"
};
inline constexpr std::array<std::uint32_t, 256> iq2_xs_grid{
#include "ops/quant/grid_iq2_xs.inc"
};
inline constexpr std::array<std::uint32_t, 512> iq2_s_grid{
#include "ops/quant/grid_iq2_s.inc"
};
inline constexpr std::array<std::uint32_t, 128> iq3_xxs_grid{
#include "ops/quant/grid_iq3_xxs.inc"
};
inline constexpr std::array<std::uint32_t, 256> iq3_s_grid{
#include "ops/quant/grid_iq3_s.inc"
};

/// The codebook of a type; empty for types without one.
constexpr std::span<const std::uint32_t> codebook_of(DType type) {
  switch (type) {
    case DType::iq1_s:
    case DType::iq1_m: return iq1_grid;
    case DType::iq2_xxs: return iq2_xxs_grid;
    case DType::iq2_xs: return iq2_xs_grid;
    case DType::iq2_s: return iq2_s_grid;
    case DType::iq3_xxs: return iq3_xxs_grid;
    case DType::iq3_s: return iq3_s_grid;
    default: return {};
  }
}

/// Level number `i` of an entry of a codebook whose levels have `bits` bits.
constexpr std::uint32_t level_of(std::span<const std::uint32_t> grid, std::uint32_t entry,
                                 std::size_t i, std::uint32_t bits) {
  const std::uint32_t packed = grid[entry / 2] >> (entry % 2 * 16);
  return (packed >> (i * bits)) & ((1U << bits) - 1);
}

/// Half of an unsigned 8-bit float with 3 fraction bits (nvfp4's scales).
inline float half_of_ue4m3(std::uint8_t bits) {
  if (bits == 0x7f) return 0;
  const int exponent = (bits >> 3) & 15;
  const int fraction = bits & 7;
  if (exponent == 0) return std::ldexp(static_cast<float>(fraction), -10);
  return std::ldexp(static_cast<float>(8 + fraction), exponent - 11);
}

}  // namespace weft::ops::quant
