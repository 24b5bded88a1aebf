#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <variant>

namespace weft {

/// Elements start, start + step, … before stop, as Python's start:stop:step: negative numbers count from the end, what is left out is the
/// whole, and what lies outside is cut off. Steps are positive.
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
