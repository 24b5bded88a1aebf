#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace weft::nn {

/// How the learning rate changes over a training: up in a straight line over `warmup` steps to `peak`, then down to
/// `peak` × `floor` at step `steps`.
struct Schedule {
  enum class Shape : std::uint8_t { constant, linear, cosine };

  Shape shape = Shape::cosine;
  double peak = 1e-3;
  double floor = 0.1;
  std::uint64_t warmup = 0;
  std::uint64_t steps = 1;

  /// The rate of a step, counted from 0.
  [[nodiscard]] double at(std::uint64_t step) const {
    if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (shape == Shape::constant) return peak;
    const std::uint64_t rest = std::max<std::uint64_t>(steps > warmup ? steps - warmup : 1, 1);
    const double progress =
        std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(rest));
    const double high =
        shape == Shape::linear ? 1 - progress : 0.5 + 0.5 * std::cos(std::numbers::pi * progress);
    return peak * (floor + (1 - floor) * high);
  }
};

}  // namespace weft::nn
