#pragma once

#include <cstdint>
#include <vector>

#include "onnx/call.hpp"
#include "weft/image.hpp"

namespace weft::onnx {

/// How windows lie on an image [N, C, spatial…], by the attributes that convolutions and pools
/// share.
struct Grid {
  std::vector<std::uint64_t> kernel;
  std::vector<std::uint64_t> stride;
  std::vector<std::uint64_t> dilation;
  std::vector<std::uint64_t> low;  ///< Pads before and behind.
  std::vector<std::uint64_t> high;
  std::vector<std::uint64_t> out;  ///< The extents of the result.
  std::vector<std::uint64_t>
      more;  ///< By how much the last windows reach past the pads, in ceil mode.
};
/// Of a node whose kernel has these extents.
Grid grid_of(const Call& call, const Shape& image, std::vector<std::uint64_t> kernel);
std::vector<std::uint64_t> counts(const Call& call, std::string_view name, std::size_t rank,
                                  std::uint64_t otherwise);

/// The attributes of a node that convolves an image of this shape with weights of that one.
ConvOptions conv_options(const Call& call, const Shape& image, const Shape& weights);
/// conv() with them.
Tensor convolve(const Call& call, const Tensor& x, const Tensor& weights, const Tensor& bias);

}  // namespace weft::onnx
