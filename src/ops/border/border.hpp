#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/plan.hpp"

namespace weft::ops::border {

/// What lies outside of a tensor.
enum class Mode : std::uint8_t {
  value,      ///< The same value everywhere.
  replicate,  ///< The nearest element.
  circular,   ///< The tensor again and again.
  reflect,    ///< The tensor mirrored at its first and last elements, which are not repeated, again
              ///< and again.
};

/// "value", "replicate", …
constexpr std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::value: return "value";
    case Mode::replicate: return "replicate";
    case Mode::circular: return "circular";
    case Mode::reflect: return "reflect";
  }
  return "?";
}

/// y[i, j, …] = x[i - low[0], j - low[1], …], where x goes on beyond its extents as `mode` says.
/// With the shape of x and Mode::circular this rolls x by `low`.
struct Args {
  View x;                         ///< f32, f16, bf16, i32 or u32.
  View y;                         ///< The type and as many dimensions as x; any extents.
  std::vector<std::int64_t> low;  ///< One per dimension; negative numbers leave elements out.
  Mode mode = Mode::value;
  double value = 0;  ///< What Mode::value puts outside.
};

/// y[…, i, j] = x[…, i, j] where low <= j - i <= high, and `value` elsewhere: a triangle, a
/// diagonal or a band.
struct BandArgs {
  View x;  ///< f32, f16, bf16, i32 or u32, at least two dimensions; may repeat (stride 0).
  View y;  ///< The shape and type of x; may be the same view.
  std::int64_t low = 0;
  std::int64_t high = 0;
  double value = 0;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const BandArgs& args, const Caps& caps);

}  // namespace weft::ops::border
