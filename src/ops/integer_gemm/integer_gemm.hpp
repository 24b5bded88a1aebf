#pragma once

#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::integer_gemm {

/// y = Σ (a - a_zero) · (b - b_zero) of whole numbers with 8 bits, exactly as long as an i32 holds
/// the sums, which go round its range; with factors, what becomes of the sums.
struct Args {
  View a;          ///< […, M, K] of i8 or u8, any strides.
  View b;          ///< […, K, N] of i8 or u8, any strides; batches of 1 repeat, as those of `a`.
  View a_zero{};   ///< Optional: i32 [M], stride 0 for one number.
  View b_zero{};   ///< Optional: i32 [N], stride 0 for one number.
  View y;          ///< […, M, N] of i32, or with factors of a float type, i8 or u8.
  View factors{};  ///< f32 [3, N]: a scale, a bias and a zero point for each column. round(sum ·
                   ///< scale + bias) + zero point.
  View others{};   ///< Optional, with factors: f32 [M], further scales for the rows of a.
  std::string_view kernel = {};  ///< Forces `matrix` or `plain`; empty: the better one.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::integer_gemm
