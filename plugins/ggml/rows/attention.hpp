#pragma once

#include "node.hpp"
#include "ops/attention/attention.hpp"
#include "ops/rope/rope.hpp"

namespace weft::plugin {

/// What a ROPE (or, `backward`, ROPE_BACK) node asks for.
Result<ops::rope::Args> rope_args(const Node& node, bool backward);

/// What a FLASH_ATTN_EXT node asks for.
ops::attention::Args attention_args(const Node& node);

}  // namespace weft::plugin
