#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

/// The number of an axis of `x` from the front; negative ones count from the end. An error names
/// `function` and the place.
std::uint32_t axis_of(std::string_view function, In x, int axis);

/// `x` with the axis as its last dimension, and the way back.
Tensor axis_to_last(In x, std::uint32_t axis);
Tensor axis_from_last(In x, std::uint32_t axis);

}  // namespace weft
