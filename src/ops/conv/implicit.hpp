#pragma once

#include "ops/conv/direct.hpp"

namespace weft::ops::conv {

/// As one product on matrix units that reads windows where they lie: in two dimensions, without
/// groups; transposed ones with steps of 1.
Status can_implicit(const Problem& problem, Mode mode, const Caps& caps);
bool worth_implicit(const Problem& problem, Mode mode, const Caps& caps);
Result<Plan> plan_implicit(const Problem& problem, Mode mode, const Caps& caps);

}  // namespace weft::ops::conv
