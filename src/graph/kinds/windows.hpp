#pragma once

#include <span>
#include <vector>

#include "graph/rule.hpp"
#include "ops/unfold/unfold.hpp"

namespace weft::graph::kinds {

/// Whether places in an image can be computed without overflow.
bool countable(const Type& image);

/// How many windows of `kernel` elements an image [N, C, spatial…] has along each dimension with
/// `high` elements of padding behind it: `given`, where there are some, or as many as fit.
Result<Shape> window_counts(const Type& image, const Shape& kernel,
                            std::span<const ops::unfold::Axis> axes,
                            std::span<const std::uint64_t> high, const Shape& given);

}  // namespace weft::graph::kinds
