#pragma once

#include <concepts>
#include <cstdint>

namespace weft {

/// ceil(a / b) for non-negative integers.
template <std::unsigned_integral T>
constexpr T ceil_div(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The smallest multiple of `step` that is not below `value`.
template <std::unsigned_integral T>
constexpr T round_up(T value, T step) {
  return ceil_div(value, step) * step;
}

/// The largest multiple of `step` that is not above `value`.
template <std::unsigned_integral T>
constexpr T round_down(T value, T step) {
  return value / step * step;
}

/// A count that is known to fit 32 bits, as kernels take it.
constexpr std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace weft
