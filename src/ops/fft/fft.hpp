#pragma once

#include "ops/plan.hpp"

namespace weft::ops::fft {

/// Discrete Fourier transforms of rows of complex numbers: y[k] = scale · Σ x[j] · exp(∓2πi·j·k /
/// n), with minus, or with plus for `inverse` (whose usual scale is 1 / n). Any length up to 2^24;
/// those without prime factors above 13 are the fastest.
struct Args {
  View x;                ///< […, n, 2] of f32, any strides: real and imaginary parts.
  View y;                ///< The shape of x, f32, any strides; must not overlap x.
  bool inverse = false;  ///< The other sign.
  float scale = 1;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::fft
