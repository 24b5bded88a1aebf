#pragma once

#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops {

/// Whether every row of `view` (its last dimension) is a whole number of groups of `width`
/// neighbouring elements, each aligned to its own size.
bool rows_aligned(const View& view, std::uint32_t width);

/// An operand that is accessed `width` elements at a time where its place allows it, and one at a
/// time otherwise.
Operand operand_of(std::string_view name, const View& view, Access access = Access::read,
                   std::uint32_t width = 4);

}  // namespace weft::ops
