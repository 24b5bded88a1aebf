#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/plan.hpp"
#include "ops/unfold/unfold.hpp"

namespace weft::ops::integer_conv {

using unfold::Axis;

/// y[n, oc, o…] = Σ (x[n, c, o * stride - pad + k * dilation…] - x_zero) · (w[oc, c, k…] - w_zero)
/// of whole numbers with 8 bits, exactly as long as an i32 holds the sums, which go round its
/// range; with factors, what becomes of the sums. Outside of the image x is its zero point. The
/// extents of `y` say how many windows there are.
struct Args {
  View x;          ///< [N, C, 1 to 3 spatial dimensions] of i8 or u8, any strides.
  View w;          ///< [OC, C / groups, k…] of i8 or u8, any strides.
  View x_zero{};   ///< Optional: i32 [1], a number that the type of x holds.
  View w_zero{};   ///< Optional: i32 [OC], stride 0 for one number.
  View y;          ///< [N, OC, o…] of i32, or with factors of a float type, i8 or u8.
  View factors{};  ///< f32 [3, OC]: a scale, a bias and a zero point for each channel. round(sum ·
                   ///< scale + bias) + zero point.
  std::vector<Axis> axes;    ///< One per spatial dimension.
  std::uint64_t groups = 1;  ///< Output channels of a group see the input channels of that group.
  std::string_view kernel = {};  ///< Forces `matrix` (units) or `plain`; empty: what is faster.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::integer_conv
