#pragma once

#include <cstdint>
#include <string_view>

#include "ops/fused/chain.hpp"
#include "ops/plan.hpp"

namespace weft::ops::norm {

/// Which numbers of a row normalise it.
enum class Kind : std::uint8_t {
  layer,  ///< (x - mean) / sqrt(variance + eps) along the last dimension.
  rms,    ///< x / sqrt(mean of squares + eps) along the last dimension.
  l2,     ///< x / max(sqrt(sum of squares), eps) along the last dimension.
  group,  ///< As layer, over each group of neighbouring channels of [batch, channels, …] and all
          ///< that follows.
};

/// "layer", "rms", …
constexpr std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::layer: return "layer";
    case Kind::rms: return "rms";
    case Kind::l2: return "l2";
    case Kind::group: return "group";
  }
  return "?";
}

/// y = normalised(x + residual) * weight + bias. Computed in f32; the mean is taken out before
/// squares are summed, so that a large mean costs no precision. Another axis is reached by
/// transposing the views.
struct Args {
  Kind kind = Kind::layer;
  View x;         ///< f32, f16 or bf16, any strides. Not looked at where there is a chain.
  View y;         ///< The shape of x, any float type; may be the same view as an input.
  View weight;    ///< Optional. Broadcasts to the shape of x; for groups: [channels].
  View bias;      ///< Optional, as weight.
  View residual;  ///< Optional, the shape of x: added to x before everything else.
  View sum;  ///< Optional output, the shape of x: x + residual. May be the same view as an input,
             ///< not as y.
  View packed{};  ///< Optional output: y as mul_mat::packed_view(y) says. For dense f32 y whose
                  ///< rows a workgroup holds.
  float eps = 1e-5F;
  std::uint64_t groups = 1;  ///< Number of groups; divides the channels.
  /// Optional, not with groups or a residual: what x is computed by, without being stored.
  fused::Chain chain{};
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::norm
