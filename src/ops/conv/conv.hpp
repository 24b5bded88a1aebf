#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/plan.hpp"
#include "ops/unfold/unfold.hpp"

namespace weft::ops::conv {

using unfold::Axis;

/// y[n, oc, o…] = bias[oc] + Σ x[n, c, o * stride - pad + k * dilation…] · w[oc, c, k…] with 1 to 3
/// spatial dimensions and x = 0 outside. Sums are kept in f32. Layouts are strides: channels may be
/// the innermost dimension in memory. The extents of `y` say how many windows there are, and so how
/// far they reach behind the end of `x`.
struct Args {
  View x;                    ///< [N, C, spatial…] of f32, f16 or bf16.
  View w;                    ///< [OC, C / groups, k…] of f32, f16 or bf16.
  View y;                    ///< [N, OC, o…] of f32, f16 or bf16.
  View bias{};               ///< Optional, [OC].
  std::vector<Axis> axes;    ///< One per spatial dimension.
  std::uint64_t groups = 1;  ///< Output channels of a group see the input channels of that group.
  bool allow_f16 = false;    ///< f32 and bf16 values may be rounded to f16 for matrix units.
  std::string_view kernel =
      {};  ///< "implicit", "gemm", "window" or "direct" forces a way; empty: the best one.
};

/// The transpose of Args: every x[n, c, o…] adds itself times w[c, oc, k…] to y[n, oc, o * stride -
/// pad + k * dilation…]. With the same w and axes it is the gradient of a convolution with respect
/// to its input.
struct TransposedArgs {
  View x;                        ///< [N, C, o…] of f32, f16 or bf16.
  View w;                        ///< [C, OC / groups, k…] of f32, f16 or bf16.
  View y;                        ///< [N, OC, spatial…] of f32, f16 or bf16.
  View bias{};                   ///< Optional, [OC].
  std::vector<Axis> axes;        ///< One per spatial dimension.
  std::uint64_t groups = 1;      ///< As for Args.
  bool allow_f16 = false;        ///< As for Args.
  std::string_view kernel = {};  ///< As for Args.
};

/// dw[oc, c, k…] = Σ dy[n, oc, o…] · x[n, c, o * stride - pad + k * dilation…]: the gradient of a
/// convolution with respect to its weights.
struct WeightArgs {
  View x;                        ///< [N, C, spatial…] of f32, f16 or bf16.
  View dy;                       ///< [N, OC, o…] of f32, f16 or bf16.
  View dw;                       ///< [OC, C / groups, k…] of f32, f16 or bf16.
  std::vector<Axis> axes;        ///< One per spatial dimension.
  std::uint64_t groups = 1;      ///< As for Args.
  bool allow_f16 = false;        ///< As for Args.
  std::string_view kernel = {};  ///< As for Args.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const TransposedArgs& args, const Caps& caps);
Result<Plan> plan(const WeightArgs& args, const Caps& caps);

/// How many tiles Traits::conv_tile chooses among.
std::uint32_t conv_tile_count();

}  // namespace weft::ops::conv
