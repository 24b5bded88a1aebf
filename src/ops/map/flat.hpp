#pragma once

#include "ops/map/piece.hpp"
#include "ops/plan.hpp"

namespace weft::ops::map {

/// The kernel for large tensors that all lie flat from the start of their bindings and fill whole
/// workgroups. It finds every element without reading parameters, which is worth a few percent at
/// the memory's full rate.
Status can_flat(const Piece& piece, const Caps& caps);
bool worth_flat(const Piece& piece, const Caps& caps);
Result<Dispatch> launch_flat(const Piece& piece, const Caps& caps);

}  // namespace weft::ops::map
