#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/norm/norm.hpp"
#include "ops/row_kernel.hpp"

namespace weft::ops::norm {

/// [batch, channels, …] as [batch, groups, channels of a group and all that follows], where the
/// strides allow it.
std::optional<View> as_groups(const View& view, std::uint64_t groups);

/// The row operand of weight or bias; `rows` is x as a row kernel sees it.
Result<RowOperand> affine_operand(std::string_view operand_name, const View& view, const Args& args,
                                  const View& rows);

}  // namespace weft::ops::norm
