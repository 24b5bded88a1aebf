#pragma once

#include <cstdint>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

// Operations on images [N, C, spatial…] with 1 to 3 spatial dimensions.

/// Choices for a convolution.
struct ConvOptions {
  Windows windows{};
  std::uint64_t groups =
      1;  ///< Output channels of a group see the input channels of that group only.
  bool allow_f16 = false;  ///< f32 and bf16 inputs may be rounded to f16, for matrix units.
  std::vector<std::uint64_t>
      more{};  ///< Of a transposed one: elements of the result behind the last window; 0.
};

/// y[n, oc, o…] = bias[oc] + Σ x[n, c, o * stride - pad + k * dilation…] · w[oc, c, k…] for x [N,
/// C, spatial…] and weights [OC, C / groups, k…]. With as many groups as channels each channel is
/// for itself (depthwise).
Tensor conv(In x, const Tensor& weights, const ConvOptions& options = {}, const Tensor& bias = {});

/// The transpose of conv(): every x[n, c, o…] adds itself times w[c, oc, k…] to y[n, oc, o * stride
/// - pad + k * dilation…], for weights [C, OC / groups, k…]. `pad_high` of the windows has no
/// meaning here.
Tensor conv_transpose(In x, const Tensor& weights, const ConvOptions& options = {},
                      const Tensor& bias = {});

/// The largest element of each window of `kernel` elements, and their mean. What lies outside of x
/// has no part in it, except that with `count_outside` a mean is over all elements of the window.
/// An empty stride means that windows follow each other.
Tensor max_pool(In x, const std::vector<std::uint64_t>& kernel, const Windows& windows = {});
Tensor avg_pool(In x, const std::vector<std::uint64_t>& kernel, const Windows& windows = {},
                bool count_outside = false);

/// The windows of an image written out, [N, o…, C, k…] (im2col).
Tensor unfold(In x, const std::vector<std::uint64_t>& kernel, const Windows& windows = {});

/// The sums of what windows [N, o…, C, k…] have for each place of an image with the extents
/// `spatial` (col2im).
Tensor fold(In columns, const std::vector<std::uint64_t>& spatial, const Windows& windows = {});

/// Images [N, C, H, W] stretched or shrunk to a height and a width.
Tensor resize(In x, std::uint64_t height, std::uint64_t width, const ResizeOptions& options = {});

}  // namespace weft
