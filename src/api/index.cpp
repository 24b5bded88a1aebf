#include "weft/index.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "graph/node.hpp"
#include "weft/shape.hpp"
#include "weft/tensor.hpp"

namespace weft {
namespace {

/// What the indices before this one have made of the tensor, and of its shape without the
/// dimensions that went.
struct Walk {
  Tensor tensor;
  Shape shape{};
  int axis = 0;
  Where where;
};

[[noreturn]] void refuse(const Tensor& x, const std::string& why, Where where) {
  throw Error(ErrorCode::invalid_argument,
              formatted("{} The tensor has shape {} ({}).", why, ops::describe(x.shape()),
                        graph::describe_place("at", where)));
}

void take_place(Walk& walk, const Tensor& x, std::int64_t place) {
  const auto extent =
      static_cast<std::int64_t>(walk.tensor.shape()[static_cast<std::size_t>(walk.axis)]);
  if (place < -extent || place >= extent) {
    refuse(x, formatted("There is no element {} along axis {}.", place, walk.axis), walk.where);
  }
  walk.tensor = walk.tensor.slice(walk.axis, place, 1, 1, walk.where);
  ++walk.axis;  // gone from the shape
}

/// The elements of a slice with a negative step: those of one that goes forward, turned round.
void take_backwards(Walk& walk, const Slice& slice, std::int64_t extent) {
  const auto place = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp<std::int64_t>(*given + (*given < 0 ? extent : 0), -1, extent - 1);
  };
  const std::int64_t start = place(slice.start, extent - 1);
  const std::int64_t stop = place(slice.stop, -1);
  // No step is longer than the dimension, so that its negative is a number too.
  const std::int64_t step = -std::max(slice.step, -std::max<std::int64_t>(extent, 1));
  const std::int64_t count = start > stop ? (start - stop + step - 1) / step : 0;
  const std::int64_t first = count == 0 ? 0 : start - (count - 1) * step;
  walk.tensor = walk.tensor.slice(walk.axis, first, static_cast<std::uint64_t>(count),
                                  static_cast<std::uint64_t>(step), walk.where);
  if (count > 1) walk.tensor = flip({walk.tensor, walk.where}, walk.axis);
  walk.shape.push_back(static_cast<std::uint64_t>(count));
  ++walk.axis;
}

void take_slice(Walk& walk, const Tensor& x, const Slice& slice) {
  const auto extent =
      static_cast<std::int64_t>(walk.tensor.shape()[static_cast<std::size_t>(walk.axis)]);
  if (slice.step == 0) refuse(x, "The step of a slice is 0.", walk.where);
  if (slice.step < 0) return take_backwards(walk, slice, extent);
  const auto place = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    const std::int64_t from_front =
        given.value_or(otherwise) + (given.value_or(0) < 0 ? extent : 0);
    return std::clamp<std::int64_t>(from_front, 0, extent);
  };
  const std::int64_t start = place(slice.start, 0);
  const std::int64_t stop = std::max(start, place(slice.stop, extent));
  const std::int64_t step = std::min(slice.step, std::max<std::int64_t>(extent, 1));
  const std::int64_t count = (stop - start + step - 1) / step;
  const bool whole = count == extent && step == 1;
  if (!whole) {
    // An empty slice starts at the front: there may be no element at its own start.
    walk.tensor =
        walk.tensor.slice(walk.axis, count == 0 ? 0 : start, static_cast<std::uint64_t>(count),
                          static_cast<std::uint64_t>(step), walk.where);
  }
  walk.shape.push_back(static_cast<std::uint64_t>(count));
  ++walk.axis;
}

}  // namespace

Tensor Tensor::at(std::span<const Index> indices, Where where) const {
  const std::size_t rank = shape().size();
  std::size_t used = 0;
  std::size_t ellipses = 0;
  for (const Index& index : indices) {
    used += std::holds_alternative<std::int64_t>(index.value) ||
                    std::holds_alternative<Slice>(index.value)
                ? 1
                : 0;
    ellipses += std::holds_alternative<EllipsisIndex>(index.value) ? 1 : 0;
  }
  if (used > rank) refuse(*this, formatted("There are {} indices.", used), where);
  if (ellipses > 1) refuse(*this, "There is more than one Ellipsis.", where);
  Walk walk{.tensor = *this, .where = where};
  const auto rest = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) take_slice(walk, *this, {});
  };
  for (const Index& index : indices) {
    if (const auto* place = std::get_if<std::int64_t>(&index.value)) {
      take_place(walk, *this, *place);
    } else if (const auto* slice = std::get_if<Slice>(&index.value)) {
      take_slice(walk, *this, *slice);
    } else if (std::holds_alternative<NewAxisIndex>(index.value)) {
      walk.shape.push_back(1);
    } else {
      rest(rank - used);
    }
  }
  if (ellipses == 0) rest(rank - used);
  return walk.tensor.reshape(walk.shape, where);
}

}  // namespace weft
