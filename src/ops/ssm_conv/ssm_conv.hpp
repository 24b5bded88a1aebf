#pragma once

#include "ops/plan.hpp"

namespace weft::ops::ssm_conv {

/// The short causal convolution in front of a state space: each channel of its own, over the last
/// tokens. y[sequence, token, channel] = sum over taps of x[sequence, channel, token + tap] *
/// weight[channel, tap], plus the bias, then silu if wanted.
struct Args {
  View x;  ///< [sequences, channels, taps - 1 + tokens], f32, f16 or bf16: the tokens before the
           ///< first come first.
  View weight;  ///< [channels, taps], float, at most 64 taps.
  View bias{};  ///< Optional, [channels], float.
  View y;       ///< [sequences, tokens, channels], f32.
  bool silu = false;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::ssm_conv
