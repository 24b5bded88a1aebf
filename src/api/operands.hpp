#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

#include "weft/in.hpp"

namespace weft {

/// map() of operands of which some may be numbers: these become tensors of the type that the others
/// have together, or of f32 where they have a fraction and the others are whole. A number that the
/// type does not hold is an error, except in comparisons, where the answer is known without it.
Tensor map_operands(std::string_view function, std::initializer_list<Operand> operands,
                    std::array<double, 4> scalars, Where where);

}  // namespace weft
