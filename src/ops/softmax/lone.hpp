#pragma once

#include "ops/softmax/softmax.hpp"

namespace weft::ops::softmax {

/// Whether subgroups that work for themselves (lone.wgsl) compute these rows best: on software
/// adapters.
bool works_alone(const Args& args, const Caps& caps);

Result<Plan> plan_lone(const Args& args, const Caps& caps);

}  // namespace weft::ops::softmax
