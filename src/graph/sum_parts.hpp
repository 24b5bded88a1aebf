#pragma once

#include <vector>

#include "weft/tensor.hpp"

namespace weft::graph {

/// The sum of the parts of a derivative. Those that came from neighbouring slices of one tensor,
/// each with zeros around it, are put side by side instead of being added: gates that are slices of
/// one product, or the steps of a sequence, become one concat.
Tensor sum_parts(std::vector<Tensor> parts);

}  // namespace weft::graph
