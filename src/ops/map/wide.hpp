#pragma once

#include <string_view>

#include "ops/map/map.hpp"

namespace weft::ops::map {

/// Whether there is a function of that name on 64-bit integers.
bool has_wide(std::string_view function);

/// As plan(), computed in 64-bit integers (two words, going round their range), for tensors of
/// which at least one is i64. Floats among them lose their fractions; "copy" converts from and to
/// any plain type.
Result<Plan> plan_wide(const Args& args, const Caps& caps);

}  // namespace weft::ops::map
