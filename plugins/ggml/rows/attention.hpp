#pragma once

#include "node.hpp"
#include "ops/rope/rope.hpp"

namespace weft::plugin {

/// What a ROPE (or, `backward`, ROPE_BACK) node asks for.
Result<ops::rope::Args> rope_args(const Node& node, bool backward);

}  // namespace weft::plugin
