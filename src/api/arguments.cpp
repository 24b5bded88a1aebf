#include "api/arguments.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/format.hpp"
#include "graph/called.hpp"
#include "graph/node.hpp"
#include "ops/view.hpp"

namespace weft {

void refuse(std::string_view function, const Where& where, const std::string& text) {
  throw Error(ErrorCode::invalid_argument,
              formatted("{} ({})", text, graph::describe_place(function, where)));
}

std::uint32_t axis_in(std::string_view function, int axis, const Shape& shape, const Where& where) {
  const int rank = static_cast<int>(shape.size());
  const std::string_view called = graph::called_or(function);
  if (axis >= -rank && axis < rank) {
    return static_cast<std::uint32_t>(axis < 0 ? axis + rank : axis);
  }
  if (rank == 0) {
    refuse(function, where,
           formatted("{} takes an axis, which a tensor of shape [] does not have; {} was given.",
                     called, axis));
  }
  refuse(function, where,
         formatted("{} with the shape {} takes an axis from {} to {}; {} was given.", called,
                   ops::describe(shape), -rank, rank - 1, axis));
}

std::vector<std::uint32_t> axes_in(std::string_view function, const std::vector<int>& axes,
                                   const Shape& shape, const Where& where) {
  std::vector<std::uint32_t> out;
  for (const int axis : axes) {
    const std::uint32_t number = axis_in(function, axis, shape, where);
    if (std::ranges::contains(out, number)) {
      refuse(function, where,
             formatted("{} was given axis {} of the shape {} twice.", graph::called_or(function),
                       axis, ops::describe(shape)));
    }
    out.push_back(number);
  }
  return out;
}

std::optional<Shape> resolved(const Extents& extents, std::uint64_t count) {
  Shape shape;
  std::optional<std::size_t> open;
  std::uint64_t known = 1;
  for (const std::int64_t extent : extents.values) {
    if (extent < -1 || (extent == -1 && open)) return std::nullopt;
    if (extent == -1) {
      open = shape.size();
    } else if (__builtin_mul_overflow(known, static_cast<std::uint64_t>(extent), &known)) {
      known = std::numeric_limits<std::uint64_t>::max();  // as many elements as no tensor has
    }
    shape.push_back(extent == -1 ? 1 : static_cast<std::uint64_t>(extent));
  }
  if (!open) return shape;
  if (known == 0 || count % known != 0) return std::nullopt;
  shape[*open] = count / known;
  return shape;
}

Tensor reorder(const Tensor& x, const std::vector<std::uint32_t>& order, const Where& where) {
  if (std::ranges::is_sorted(order)) return x;
  return x.permute({order.begin(), order.end()}, where);
}

std::vector<std::uint32_t> move_order(std::size_t rank, std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> order(rank);
  std::iota(order.begin(), order.end(), 0U);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return order;
}

std::string list(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t value : values) {
    text += formatted("{}{}", text.size() == 1 ? "" : ",", value);
  }
  return text + "]";
}

std::string describe(const Tensor& x) {
  return formatted("{}{}", name(x.dtype()), ops::describe(x.shape()));
}

void need(std::string_view function, std::string_view what, const Tensor& x, const Where& where) {
  if (!x)
    refuse(function, where,
           formatted("{} was given no tensor as {}.", graph::called_or(function), what));
}

}  // namespace weft
