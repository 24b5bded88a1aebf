#pragma once

#include <cstdint>
#include <vector>

#include "ops/plan.hpp"

namespace weft::ops::unfold {

/// How windows lie along one spatial dimension: element k of window o is at o * stride - pad + k *
/// dilation.
struct Axis {
  std::uint64_t stride = 1;
  std::int64_t pad = 0;
  std::uint64_t dilation = 1;
  bool operator==(const Axis&) const = default;
};

/// The windows of an image, written out (im2col): columns[n, o…, c, k…] = image[n, c, o * stride -
/// pad + k * dilation…], and 0 where that is outside. The extents of o and k are those of
/// `columns`, so padding behind the image is whatever the last windows reach.
struct UnfoldArgs {
  View image;              ///< [N, C, 1 to 3 spatial dimensions] of f32, f16 or bf16.
  View columns;            ///< [N, o…, C, k…] of f32, f16 or bf16, any strides.
  std::vector<Axis> axes;  ///< One per spatial dimension.
};

/// The sum of what UnfoldArgs would have taken from each place of an image (col2im), in f32 and
/// always in the same order.
struct FoldArgs {
  View columns;            ///< [N, o…, C, k…] of f32, f16 or bf16, any strides.
  View image;              ///< [N, C, 1 to 3 spatial dimensions] of f32, f16 or bf16.
  std::vector<Axis> axes;  ///< One per spatial dimension.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const UnfoldArgs& args, const Caps& caps);
Result<Plan> plan(const FoldArgs& args, const Caps& caps);

}  // namespace weft::ops::unfold
