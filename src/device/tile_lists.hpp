#pragma once

#include <cstdint>

namespace weft {

/// What the numbers of tiles in Traits mean: a hash of all lists of tiles in src/ops, which a test
/// compares. Files of `weft tune` that were made with other lists do not count.
inline constexpr std::uint64_t tile_lists = 0x66c2b38fb73bafd5;

}  // namespace weft
