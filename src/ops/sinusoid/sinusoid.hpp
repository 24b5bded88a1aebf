#pragma once

#include "ops/plan.hpp"

namespace weft::ops::sinusoid {

/// Positions as waves, as diffusion models embed time steps: with h = D / 2 and angle = x[n] ·
/// period^(-j / h), y[n, j] is its cosine and y[n, h + j] its sine for j < h. The last element of
/// an odd row is 0.
struct Args {
  View x;  ///< [N] of f32, f16, bf16 or i32.
  View y;  ///< [N, D] of f32, f16 or bf16.
  double period =
      1e4;  ///< Above 0: the slowest wave is about this many times as long as the fastest.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::sinusoid
