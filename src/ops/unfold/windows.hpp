#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/unfold/unfold.hpp"

namespace weft::ops::unfold {

/// An image and its windows in normal form, with three spatial dimensions.
struct Windows {
  View image;    ///< [N, C, D, H, W]
  View columns;  ///< [N, OD, OH, OW, C, KD, KH, KW]
  std::array<Axis, 3> axes;
};

/// Checks shapes, types and numbers and adds the spatial dimensions that are missing. `op` is for messages.
Result<Windows> normalize(std::string_view op, const View& image, const View& columns,
                          std::span<const Axis> axes);

/// Part [first, first + count) of dimension `dim` of the columns, and what it needs of the image.
Windows cut_columns(const Windows& whole, std::uint32_t dim, std::uint64_t first,
                    std::uint64_t count);

/// Part [first, first + count) of dimension `dim` of the image, and the windows that reach it.
Windows cut_image(const Windows& whole, std::uint32_t dim, std::uint64_t first,
                  std::uint64_t count);

}  // namespace weft::ops::unfold
