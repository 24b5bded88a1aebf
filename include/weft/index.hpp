#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace weft {

/// Dimensions of a tensor by their numbers, outermost first; negative ones count from the end (-1
/// is the last). One may be written by itself: sum(x, -1), sum(x, {0, 1}).
struct Dims : std::vector<int> {
  Dims() = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Dims(T axis)  // NOLINT: meant to be written as it is
      : std::vector<int>{std::in_range<int>(axis) ? static_cast<int>(axis)
                                                  : std::numeric_limits<int>::max()} {}
  Dims(std::initializer_list<int> axes) : std::vector<int>(axes) {}
  template <std::input_iterator Iterator>
  Dims(Iterator first, Iterator last) : std::vector<int>(first, last) {}
  Dims(std::vector<int> axes) : std::vector<int>(std::move(axes)) {}  // NOLINT
};

/// One extent of a new shape; -1 stands for the one that follows from the others.
struct Extent {
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Extent(T extent)  // NOLINT: meant to be written as it is
      : value(std::in_range<std::int64_t>(extent) ? static_cast<std::int64_t>(extent)
                                                  : std::numeric_limits<std::int64_t>::max()) {}
  std::int64_t value;
};

/// A new shape as reshape() takes it: {2, 3}, {x.shape()[0], -1}, or another tensor's shape.
struct Extents {
  Extents() = default;
  Extents(std::initializer_list<Extent> extents) {
    for (const Extent extent : extents) values.push_back(extent.value);
  }
  template <std::integral T>
  Extents(const std::vector<T>& extents) {  // NOLINT
    for (const T extent : extents) values.push_back(Extent(extent).value);
  }
  std::vector<std::int64_t> values;
};

/// Elements start, start + step, … before stop, as Python's start:stop:step: negative numbers count
/// from the end, what is left out is the whole, and what lies outside is cut off. With a negative
/// step they come in reverse order, as in numpy: Slice{.step = -1} turns a dimension round.
struct Slice {
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> stop{};
  std::int64_t step = 1;
};

/// Stands for as many whole dimensions as the other indices leave.
struct EllipsisIndex {};
inline constexpr EllipsisIndex Ellipsis{};  // NOLINT(readability-identifier-naming): as in Python

/// A new dimension of extent 1.
struct NewAxisIndex {};
inline constexpr NewAxisIndex NewAxis{};  // NOLINT(readability-identifier-naming)

/// One index of Tensor::at(): a place (its dimension goes), a slice, Ellipsis or NewAxis.
struct Index {
  template <std::integral T>
  Index(T place)
      : value(static_cast<std::int64_t>(place)) {}  // NOLINT: meant to be written as it is
  Index(Slice slice) : value(slice) {}              // NOLINT
  Index(EllipsisIndex rest) : value(rest) {}        // NOLINT
  Index(NewAxisIndex axis) : value(axis) {}         // NOLINT

  std::variant<std::int64_t, Slice, EllipsisIndex, NewAxisIndex> value;
};

}  // namespace weft
