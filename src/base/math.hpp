#pragma once

#include <concepts>

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

}  // namespace weft
