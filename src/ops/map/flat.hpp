#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ops/map/map.hpp"
#include "ops/plan.hpp"

namespace weft::ops::map {

/// The launch for large tensors that all lie flat from the start of their bindings and fill whole
/// workgroups, if these views (output first, collapsed, small enough for one binding each) are such
/// tensors; nothing otherwise. Its kernel finds every element without reading parameters, which is
/// worth a few percent at the memory's full rate.
Result<std::optional<Dispatch>> plan_flat(std::span<const View> views, std::string_view function,
                                          std::string_view domain,
                                          std::span<const std::uint32_t, 4> scalars,
                                          const Caps& caps);

}  // namespace weft::ops::map
