#include "api/axes.hpp"

#include <numeric>

#include "api/arguments.hpp"

namespace weft {

std::uint32_t axis_of(std::string_view function, In x, int axis) {
  return axis_in(function, axis, x.tensor.shape(), x.where);
}

Tensor axis_to_last(In x, std::uint32_t axis) {
  const auto rank = static_cast<int>(x.tensor.shape().size());
  const auto from = static_cast<int>(axis);
  if (from == rank - 1) return x.tensor;
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (i != from) order.push_back(i);
  }
  order.push_back(from);
  return x.tensor.permute(order, x.where);
}

Tensor axis_from_last(In x, std::uint32_t axis) {
  const auto rank = static_cast<int>(x.tensor.shape().size());
  const auto to = static_cast<int>(axis);
  if (to == rank - 1) return x.tensor;
  std::vector<int> order(static_cast<std::size_t>(rank - 1));
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + to, rank - 1);
  return x.tensor.permute(order, x.where);
}

}  // namespace weft
