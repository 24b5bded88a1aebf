#pragma once

#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::resize {

/// How a resized image is computed from the given one.
enum class Mode : std::uint8_t {
  nearest,  ///< The element at floor(i * extent of x / extent of y).
  linear,   ///< Between the nearest two elements along each dimension.
  cubic,    ///< Between the nearest four, by Keys' polynomial with a = -0.75.
};

/// "nearest", "linear", …
constexpr std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::nearest: return "nearest";
    case Mode::linear: return "linear";
    case Mode::cubic: return "cubic";
  }
  return "?";
}

/// `y` is `x` with its last two dimensions stretched or shrunk to those of `y`. Centres of elements
/// are at i + 0.5, and elements past the edge are those at the edge. The first two dimensions may
/// differ too: they are always `nearest`.
struct Args {
  View x;  ///< [N, C, H, W] of f32, f16 or bf16.
  View y;  ///< Four dimensions of f32, f16 or bf16.
  Mode mode = Mode::nearest;
  bool align_corners =
      false;               ///< The first and last elements of x and y meet, instead of the edges.
  bool antialias = false;  ///< `linear` takes the mean of all elements that one of y covers.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::resize
