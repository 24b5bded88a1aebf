#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "nn/random.hpp"

namespace weft::nn {

/// Draws a token: of the `top` most likely ones, with probabilities from logits / temperature. A
/// temperature of 0 takes the most likely one.
inline std::uint32_t sample(std::span<const float> logits, double temperature, std::size_t top,
                            Random& random) {
  std::vector<std::uint32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0U);
  top = std::clamp<std::size_t>(temperature > 0 ? top : 1, 1, logits.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(top),
                            [&](auto a, auto b) { return logits[a] > logits[b]; });
  std::vector<double> weights(top);
  for (std::size_t i = 0; i < top; ++i) {
    const double distance = logits[order[i]] - logits[order[0]];
    weights[i] = i == 0 ? 1 : std::exp(distance / temperature);
  }
  double rest = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < top; ++i) {
    rest -= weights[i];
    if (rest < 0) return order[i];
  }
  return order[0];
}

}  // namespace weft::nn
