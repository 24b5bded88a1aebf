#pragma once

#include "ops/softmax/softmax.hpp"

namespace weft::ops::softmax {

/// Softmax by subgroups that work for themselves (lone.wgsl), which is best on software adapters.
Status can_lone(const Args& args, const Caps& caps);
bool worth_lone(const Args& args, const Caps& caps);
Result<Plan> plan_lone(const Args& args, const Caps& caps);

}  // namespace weft::ops::softmax
