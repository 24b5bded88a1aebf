#pragma once

#include "ops/softmax/softmax.hpp"

namespace weft::ops::softmax {

/// Dense rows of 16-bit elements, eight at a time as they lie in memory.
Status can_dense(const Args& args, const Caps& caps);
bool worth_dense(const Args& args, const Caps& caps);
Result<Plan> plan_dense(const Args& args, const Caps& caps);

}  // namespace weft::ops::softmax
