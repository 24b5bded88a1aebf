#include "weft/index.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "graph/node.hpp"
#include "weft/tensor.hpp"

namespace weft {
namespace {

/// What the indices before this one have made of the tensor, and of its shape without the dimensions that went.
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

void take_slice(Walk& walk, const Tensor& x, const Slice& slice) {
  const auto extent =
      static_cast<std::int64_t>(walk.tensor.shape()[static_cast<std::size_t>(walk.axis)]);
  if (slice.step < 1) {
    refuse(x, formatted("The step of a slice is positive; it is {}.", slice.step), walk.where);
  }
  const auto place = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    const std::int64_t from_front =
        given.value_or(otherwise) + (given.value_or(0) < 0 ? extent : 0);
    return std::clamp<std::int64_t>(from_front, 0, extent);
  };
  const std::int64_t start = place(slice.start, 0);
  const std::int64_t stop = std::max(start, place(slice.stop, extent));
  const std::int64_t count = (stop - start + slice.step - 1) / slice.step;
  const bool whole = count == extent && slice.step == 1;
  if (!whole) {
    // An empty slice starts at the front: there may be no element at its own start.
    walk.tensor =
        walk.tensor.slice(walk.axis, count == 0 ? 0 : start, static_cast<std::uint64_t>(count),
                          static_cast<std::uint64_t>(slice.step), walk.where);
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
