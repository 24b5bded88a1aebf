#pragma once

#include "ops/map/piece.hpp"
#include "ops/plan.hpp"

namespace weft::ops::map {

/// The tiled copy for an output and an input that are contiguous along different dimensions.
Status can_transpose(const Piece& piece, const Caps& caps);
bool worth_transpose(const Piece& piece, const Caps& caps);
Result<Dispatch> launch_transpose(const Piece& piece, const Caps& caps);

}  // namespace weft::ops::map
