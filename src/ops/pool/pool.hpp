#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/plan.hpp"
#include "ops/unfold/unfold.hpp"

namespace weft::ops::pool {

using unfold::Axis;

/// What a pool takes of each window.
enum class Function : std::uint8_t { max, mean };

/// y[n, c, o…] = the largest or the mean of x[n, c, o * stride - pad + k * dilation…] over a window
/// of `kernel` elements. Elements outside of x have no part in it; a window without any gives the
/// lowest f32, or a mean of 0.
struct Args {
  Function function = Function::max;
  View x;                             ///< [N, C, 1 to 3 spatial dimensions] of f32, f16 or bf16.
  View y;                             ///< [N, C, o…] of f32, f16 or bf16.
  std::vector<std::uint64_t> kernel;  ///< Elements of a window, one per spatial dimension.
  std::vector<Axis> axes;             ///< One per spatial dimension.
  bool count_outside =
      false;  ///< The mean divides by the elements of the window, not by those inside.
  /// The largest of a window with a NaN is NaN, and of one with nothing above it -infinity. Without
  /// it NaN is passed over, and nothing is lower than the lowest f32.
  bool propagates_nan = false;
};

/// The gradient of Args with respect to x. With `max` each dy goes to the first largest element of
/// its window.
struct BackwardArgs {
  Function function = Function::max;
  View dy;                            ///< [N, C, o…] of f32, f16 or bf16.
  View x{};                           ///< What went into the pool; only `max` needs it.
  View dx;                            ///< [N, C, 1 to 3 spatial dimensions] of f32, f16 or bf16.
  std::vector<std::uint64_t> kernel;  ///< As for Args.
  std::vector<Axis> axes;             ///< As for Args.
  bool count_outside = false;         ///< As for Args.
  bool propagates_nan = false;        ///< As for Args.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const BackwardArgs& args, const Caps& caps);

}  // namespace weft::ops::pool
