#include <cstdint>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "api/labels.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "weft/device.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

/// Indices from the front: negative ones count from the end of `extent` elements.
Tensor from_front(std::string_view function, const Tensor& given, std::uint64_t extent,
                  const Where& at) {
  need(function, "its indices", given, at);
  if (!is_integer(given.dtype())) {
    refuse(function, at,
           formatted("{} needs whole numbers as indices; they are {}.", function, describe(given)));
  }
  const Tensor indices = as_indices(given, at);
  const Tensor zero = indices.device().full({}, 0, indices.dtype(), at);
  const Tensor from_end = In(indices, at) + static_cast<double>(extent);
  return where(In(less(In(indices, at), zero), at), from_end, indices);
}

}  // namespace

Tensor take(In x, const Tensor& indices, int axis) {
  const graph::Called called("take", x.where);
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("take", axis, shape, x.where);
  const Tensor places = from_front("take", indices, shape[at], x.where);
  // The axis in front, as rows of a table.
  const std::size_t rank = shape.size();
  const Tensor front = reorder(x.tensor, move_order(rank, at, 0), x.where);
  std::uint64_t columns = 1;
  for (std::size_t i = 1; i < rank; ++i) columns *= front.shape()[i];
  const Tensor rows = embedding(In(front.reshape({shape[at], columns}, x.where), x.where),
                                places.reshape({places.size()}, x.where));
  Shape out = indices.shape();
  const std::size_t taken = out.size();
  out.insert(out.end(), front.shape().begin() + 1, front.shape().end());
  // The dimensions of the indices go to where the axis was.
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < at; ++i) order.push_back(static_cast<std::uint32_t>(taken + i));
  for (std::size_t i = 0; i < taken; ++i) order.push_back(static_cast<std::uint32_t>(i));
  for (std::size_t i = at; i + 1 < rank; ++i) {
    order.push_back(static_cast<std::uint32_t>(taken + i));
  }
  return reorder(rows.reshape(out, x.where), order, x.where);
}

Tensor take(In x, const Tensor& indices) {
  return take(In(x.tensor.reshape({x.tensor.size()}, x.where), x.where), indices, 0);
}

Tensor take_along(In x, const Tensor& indices, int axis) {
  const graph::Called called("take_along", x.where);
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("take_along", axis, shape, x.where);
  const Tensor places = from_front("take_along", indices, shape[at], x.where);
  Shape of_x = shape;
  Shape of_indices = indices.shape();
  bool fits = of_indices.size() == of_x.size();
  for (std::uint32_t i = 0; fits && i < shape.size(); ++i) {
    if (i == at) continue;
    fits = of_x[i] == of_indices[i] || of_x[i] == 1 || of_indices[i] == 1;
    of_x[i] = of_indices[i] = of_x[i] == 1 ? of_indices[i] : of_x[i];
  }
  if (!fits) {
    refuse("take_along", x.where,
           formatted("take_along needs indices whose extents, except along axis {}, are those of "
                     "{} or 1; they are {}.",
                     axis, describe(x.tensor), describe(indices)));
  }
  return gather(In(x.tensor.broadcast_to(of_x, x.where), x.where),
                places.broadcast_to(of_indices, x.where), static_cast<int>(at));
}

}  // namespace weft
