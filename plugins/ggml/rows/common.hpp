#pragma once

#include <span>
#include <string_view>

#include "node.hpp"
#include "ops/map/map.hpp"

namespace weft::plugin {

/// ggml repeats a smaller tensor as a whole (element i meets i % extent). Splits each dimension of `full` views, which
/// have the larger shape, where `small` is repeated in between, so that plain broadcasting does the rest.
inline void split_repeats(std::span<ops::View* const> full, ops::View& small) {
  for (std::uint32_t i = small.rank; i-- > 0;) {
    const std::uint64_t extent = small.shape[i];
    const std::uint64_t whole = full.front()->shape[i];
    if (extent == whole || extent <= 1 || whole % extent != 0) continue;
    for (ops::View* view : full) *view = view->split(i, extent);
    small = small.unsqueeze(i);
    small.shape[i] = whole / extent;
    small.stride[i] = 0;
  }
}

/// dst = function(inputs…) with plain broadcasting.
inline Result<ops::Plan> map_to(std::string_view function, std::vector<ops::View> inputs,
                                const ops::View& dst, const Caps& caps,
                                const ops::map::Scalars& scalars = {}) {
  return ops::map::plan({function, std::move(inputs), dst, scalars}, caps);
}

}  // namespace weft::plugin
