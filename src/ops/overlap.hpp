#pragma once

#include "ops/view.hpp"

namespace weft::ops {

/// Whether two tensors of one buffer have bytes in common, gaps between elements included; an empty
/// one has none, and so has one that is not given.
inline bool overlap(const View& a, const View& b) {
  if (!a.given() || a.slot != b.slot || a.empty() || b.empty()) return false;
  return a.bytes().begin < b.bytes().end && b.bytes().begin < a.bytes().end;
}

}  // namespace weft::ops
