#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "weft/tensor.hpp"

namespace weft::graph {

/// dy times the derivative of an elementwise function by each of its inputs, in the shape of the
/// result; empty for inputs without one. `y` is the function's result.
std::vector<Tensor> derivatives(std::string_view function, const std::vector<Tensor>& inputs,
                                const Tensor& y, const Tensor& dy,
                                const std::array<double, 4>& scalars,
                                const std::vector<bool>& wanted);

}  // namespace weft::graph
