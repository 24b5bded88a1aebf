#pragma once

#include <cstdint>
#include <vector>

#include "onnx/call.hpp"

namespace weft::onnx {

/// Where the elements of a moved array come from: the host's way to move elements about.
struct Places {
  explicit Places(const Shape& of);
  Shape shape;
  std::vector<std::uint64_t> at;

  void permute(const std::vector<int>& order);
  /// Those of an axis by their numbers.
  void take(std::size_t axis, const std::vector<std::uint64_t>& numbers);
  void expand(const Shape& to);
};

/// An axis that may count from the end, of `rank` dimensions.
std::size_t axis_of(const Call& call, std::int64_t axis, std::size_t rank);
/// The same as the engine takes it.
inline int int_axis(const Call& call, std::int64_t axis, std::size_t rank) {
  return static_cast<int>(axis_of(call, axis, rank));
}
/// Several, in order; an error where one is named twice.
std::vector<std::size_t> axes_of(const Call& call, const std::vector<std::int64_t>& axes,
                                 std::size_t rank);
std::vector<int> int_axes(const Call& call, const std::vector<std::int64_t>& axes,
                          std::size_t rank);

/// A value with another shape of as many elements.
Value with_shape(const Call& call, const Value& value, const Shape& shape);

/// Elements first, first + step, … of an axis, for Slice.
struct Range {
  std::size_t axis = 0;
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::uint64_t count = 0;
};
std::vector<Range> ranges_of(const Call& call);

Shape shape_from(const Call& call, const std::vector<std::int64_t>& extents);
std::uint64_t count_of(const Shape& shape);
/// The last extent; a shape of none throws as at() does, which becomes an error that names the
/// node.
inline std::uint64_t last_of(const Shape& shape) { return shape.at(shape.size() - 1); }

}  // namespace weft::onnx
