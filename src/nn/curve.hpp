#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::nn {

/// One point of a loss curve.
struct Point {
  std::uint64_t step = 0;
  float loss = 0;
  bool operator==(const Point&) const = default;
};

/// Loss curves as an SVG picture: the training loss of every step, its running mean, and the
/// validation loss.
std::string draw_curve(std::string_view title, std::span<const Point> training,
                       std::span<const Point> validation);

}  // namespace weft::nn
