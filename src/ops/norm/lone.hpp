#pragma once

#include "ops/norm/norm.hpp"

namespace weft::ops::norm {

/// Whether subgroups that work for themselves (lone.wgsl) normalise these rows best: on software
/// adapters.
bool works_alone(const Args& args, const Caps& caps);

Result<Plan> plan_lone(const Args& args, const Caps& caps);

}  // namespace weft::ops::norm
