#pragma once

#include <string_view>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

/// What the unscaled transform of n elements is multiplied by; `inverse` for its inverse.
double norm_factor(std::string_view function, std::string_view norm, double n, bool inverse,
                   const Where& at);

/// The axes of complex numbers (`complex`) or real ones, from the front; all where none are named.
std::vector<int> transform_axes(std::string_view function, In x, const Dims& axes, bool complex);

}  // namespace weft
