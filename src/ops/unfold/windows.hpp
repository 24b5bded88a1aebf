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

/// Checks shapes, types and numbers and adds the spatial dimensions that are missing. `op` is for
/// messages.
Result<Windows> normalize(std::string_view op, const View& image, const View& columns,
                          std::span<const Axis> axes);

/// Part [first, first + count) of dimension `dim` of the columns, and what it needs of the image.
Windows cut_columns(const Windows& whole, std::uint32_t dim, std::uint64_t first,
                    std::uint64_t count);

/// Part [first, first + count) of dimension `dim` of the image, and the windows that reach it.
Windows cut_image(const Windows& whole, std::uint32_t dim, std::uint64_t first,
                  std::uint64_t count);

/// Strides of [N, C, D, H, W], for kernels.
using Steps = std::array<std::uint32_t, 5>;
Steps steps_of(const View& view);

/// The numbers that kernels over windows take: the extents of the image, how many windows there
/// are, and their shape.
struct WindowParams {
  std::array<std::int32_t, 3> size{};
  std::array<std::int32_t, 3> out{};
  std::array<std::int32_t, 3> kernel{};
  std::array<std::int32_t, 3> stride{};
  std::array<std::int32_t, 3> pad{};
  std::array<std::int32_t, 3> dilation{};

  /// Of spatial dimension i, from 0 to 2.
  void set(std::size_t i, std::uint64_t image, std::uint64_t windows, std::uint64_t extent,
           const Axis& axis);
};

/// Whether the elements of [N, C, D, H, W] can be written two at a time, because they share words
/// of 4 bytes.
bool in_pairs(const View& y);

}  // namespace weft::ops::unfold
