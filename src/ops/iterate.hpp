#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "device/caps.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops {

/// Rewrites views of one common shape so that fewer dimensions are left: extents of 1 go,
/// dimensions are ordered by the strides of the first view (outermost largest), and neighbours that
/// every view steps through evenly are merged. The set of (element of view 0, element of view 1, …)
/// tuples stays the same. Rank is at least 1 after.
void collapse(std::span<View> views);

/// Bytes that a view may span to fit one binding wherever it starts: binding offsets are rounded
/// down to the alignment, which can cost up to that many bytes.
constexpr std::uint64_t binding_budget(const Caps& caps) {
  return caps.max_binding > 2ULL * caps.binding_alignment
             ? caps.max_binding - caps.binding_alignment
             : caps.max_binding;
}

/// About half of `extent`, a multiple of a large power of two where possible, so that both halves
/// stay aligned.
std::uint64_t half_of(std::uint64_t extent);

/// Calls `emit` for pieces of the common iteration space that each fit: no view spans more than one
/// binding of the device, and no piece has 2^31 elements or more. Splits along the dimension that
/// spreads the largest view most.
Status for_each_piece(std::vector<View> views, const Caps& caps,
                      const std::function<Status(std::span<const View>)>& emit);

}  // namespace weft::ops
