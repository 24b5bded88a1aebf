#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/tensor.hpp"

namespace weft {

/// Sums of products of tensors whose dimensions have letters (any characters), for einsum and what
/// is made like it: letters that are not in `output` are summed over. Extents of 1 repeat.
/// `function` is who is named in errors.
Tensor contract(std::string_view function, std::vector<std::string> terms,
                const std::string& output, std::vector<Tensor> tensors, const Where& where);

}  // namespace weft
