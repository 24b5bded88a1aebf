#pragma once

#include "ops/rope/rope.hpp"

namespace weft::ops::rope {

/// Whether tokens have several positions, one for each section of the pairs.
bool has_sections(Mode mode);

/// Whether two tensors turn by the same angles.
bool same_turns(const Args& a, const Args& b);

/// What is wrong with the arguments, if anything.
Status check(const Args& args);

}  // namespace weft::ops::rope
