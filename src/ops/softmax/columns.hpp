#pragma once

#include "ops/plan.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft::ops::softmax {

/// Softmax along columns, four neighbouring ones at a time, of arguments that were checked: with
/// nothing but x, y and a scale, and tensors that lie that way.
Status can_columns(const Args& args, const Caps& caps);
bool worth_columns(const Args& args, const Caps& caps);
Result<Plan> plan_columns(const Args& args, const Caps& caps);

}  // namespace weft::ops::softmax
