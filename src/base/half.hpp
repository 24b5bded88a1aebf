#pragma once

#include <bit>
#include <cstdint>

namespace weft {

/// f32 → f16 bits, round to nearest even; overflow gives infinity, NaN stays NaN.
constexpr std::uint16_t f16_bits(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (x >> 16) & 0x8000U;
  const std::uint32_t magnitude = x & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude >= 0x38800000U) {  // normal: rebias the exponent, round the 13 bits cut off
    const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
  }
  if (magnitude < 0x33000000U) return static_cast<std::uint16_t>(sign);
  const std::uint32_t shift = 126U - (magnitude >> 23);
  const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
  const std::uint32_t half = 1U << (shift - 1U);
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
  const std::uint32_t up = (rest > half || (rest == half && (kept & 1U) != 0)) ? 1U : 0U;
  return static_cast<std::uint16_t>(sign | (kept + up));
}

/// f16 bits → f32, exact.
constexpr float f32_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31U;
  std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
  }
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const auto lead = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21U;
  mantissa = (mantissa << lead) & 0x3ffU;
  return std::bit_cast<float>(sign | ((113U - lead) << 23) | (mantissa << 13));
}

/// f32 → bf16 bits, round to nearest even; NaN stays NaN.
constexpr std::uint16_t bf16_bits(float value) {
  const auto x = std::bit_cast<std::uint32_t>(value);
  if ((x & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((x >> 16) | 0x40U);
  return static_cast<std::uint16_t>((x + 0x7fffU + ((x >> 16) & 1U)) >> 16);
}

/// bf16 bits → f32, exact.
constexpr float f32_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace weft
