#pragma once

#include <vector>

#include "weft/tensor.hpp"

namespace weft {

/// A tensor as an argument, together with the line on which it was passed: errors name that line.
struct In {
  In(const Tensor& value, Where place = Where::current())  // NOLINT: made where a tensor is passed
      : tensor(value), where(place) {}
  const Tensor& tensor;
  Where where;
};

/// Dimensions of a tensor by their numbers, outermost first; negative ones count from the end (-1 is the last).
using Dims = std::vector<int>;

}  // namespace weft
