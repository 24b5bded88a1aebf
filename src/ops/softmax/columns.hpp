#pragma once

#include <optional>

#include "ops/plan.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft::ops::softmax {

/// Softmax along columns, four neighbouring ones at a time; nothing where `args` (which were
/// checked) has anything but x, y and a scale, or where the tensors do not lie that way.
std::optional<Result<Plan>> plan_columns(const Args& args, const Caps& caps);

}  // namespace weft::ops::softmax
