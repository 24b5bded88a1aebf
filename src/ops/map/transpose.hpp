#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::map {

/// The tiled copy for an output and an input that are contiguous along different dimensions, if
/// these views (output first, collapsed, small enough for one binding each) are such a pair;
/// nothing otherwise.
Result<std::optional<Dispatch>> plan_transpose(std::span<const View> views, std::string_view domain,
                                               const Caps& caps);

}  // namespace weft::ops::map
