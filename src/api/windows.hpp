#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/attributes/windows.hpp"
#include "weft/image.hpp"

namespace weft {

/// A number for each of `count` dimensions, where one was given for all, or none. Larger ones than
/// any image has would only overflow.
std::vector<std::uint64_t> spread(const std::vector<std::uint64_t>& given, std::size_t count,
                                  std::uint64_t standard, std::string_view what, In x);

/// The number of spatial dimensions of an image [N, C, spatial…].
std::size_t spatial_of(In x);

std::vector<ops::unfold::Axis> axes_of(const Windows& windows, std::size_t count, In x);
/// The padding behind an image.
std::vector<std::uint64_t> high_of(const Windows& windows, std::size_t count, In x);

/// What a convolution of x is told; the result has the type of x.
graph::ConvAttributes conv_attributes(const ConvOptions& options, In x);

}  // namespace weft
