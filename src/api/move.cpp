#include <algorithm>
#include <limits>
#include <mutex>
#include <string_view>
#include <vector>

#include "api/axes.hpp"
#include "api/labels.hpp"
#include "api/types.hpp"
#include "base/format.hpp"
#include "describe/attributes/axis.hpp"
#include "describe/attributes/border.hpp"
#include "describe/attributes/pad.hpp"
#include "describe/attributes/shape.hpp"
#include "describe/attributes/sort.hpp"
#include "gpu/lifetime.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

Tensor concat(const std::vector<Tensor>& tensors, int axis, Where where) {
  if (tensors.empty()) {
    throw Error(ErrorCode::invalid_argument, "concat needs at least one tensor.");
  }
  return make(kinds::concat,
              graph::AxisAttributes{axis_of("concat", {tensors.front(), where}, axis)},
              alike(tensors, where), where);
}

Tensor pad(In x, const Shape& low, const Shape& high, double value) {
  return make(kinds::pad, graph::PadAttributes{low, high, value}, {x.tensor}, x.where);
}

namespace {

template <class T>
void check_values(std::string_view what, const Tensor& indices, std::uint64_t count, Where where) {
  const std::vector<T> values = indices.to_vector<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && static_cast<std::uint64_t>(values[i]) < count) continue;
    throw Error(ErrorCode::invalid_argument,
                formatted("Index {}, element {} of {} in shape {}, is not below {}. ({})",
                          values[i], i, values.size(), ops::describe(indices.shape()), count,
                          graph::describe_place(what, where)));
  }
}

/// On a device in safe mode, an index that is known already and lies outside is an error. In fast
/// mode, and in a page, nothing waits for the device here: such an index gives zeros, or goes
/// nowhere.
void check_indices(std::string_view what, const Tensor& indices, std::uint64_t count, Where where) {
  const Node& node = *Access::value(indices).node;
  if (!gpu::checks_elements(node.device->device)) return;
  const std::scoped_lock lock(node.device->mutex);
  if (!node.computed()) return;
  if (indices.dtype() == DType::i64) {
    check_values<std::int64_t>(what, indices, count, where);
  } else {
    check_values<std::int32_t>(what, indices, count, where);
  }
}

}  // namespace

Tensor embedding(In table, const Tensor& given) {
  const graph::Called called("embedding", table.where);
  const Tensor indices = as_indices(given, table.where);
  Shape shape = indices.shape();
  const Shape& of_table = table.tensor.shape();
  if (!of_table.empty() && of_table.front() == 0 && indices.size() != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("{} indices cannot lie in a table without rows, {}. ({})", indices.size(),
                  ops::describe(of_table), graph::describe_place("embedding", table.where)));
  }
  const Tensor flat = indices.reshape({indices.size()}, table.where);
  const Tensor rows = moved(
      table, [&](const Tensor& t) { return make(kinds::embedding, {}, {t, flat}, table.where); });
  check_indices("embedding", indices, table.tensor.shape()[0], table.where);
  shape.push_back(rows.shape().back());
  return rows.reshape(shape, table.where);
}

namespace {

/// How many elements all dimensions but the last have.
std::uint64_t outside(const Shape& shape) {
  std::uint64_t count = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) count *= shape[i];
  return count;
}

/// gather() of tensors with the most dimensions, which its kernel has one less of: as rows.
Tensor gather_flat(In x, const Tensor& index, std::uint32_t dim) {
  const Tensor from = axis_to_last(x, dim);
  const Tensor places = axis_to_last({index, x.where}, dim);
  const Shape& shape = places.shape();
  if (!std::equal(shape.begin(), shape.end() - 1, from.shape().begin())) {
    throw Error(ErrorCode::unsupported,
                formatted("gather of {} dimensions needs indices whose extents, except along axis "
                          "{}, are those of {}; they are {}. ({})",
                          shape.size(), dim, ops::describe(x.tensor.shape()),
                          ops::describe(index.shape()), graph::describe_place("gather", x.where)));
  }
  const Tensor rows = from.reshape({outside(from.shape()), from.shape().back()}, x.where);
  const Tensor taken =
      gather({rows, x.where}, places.reshape({outside(shape), shape.back()}, x.where), 1);
  return axis_from_last({taken.reshape(shape, x.where), x.where}, dim);
}

}  // namespace

Tensor gather(In x, const Tensor& given, int axis) {
  const Tensor index = as_indices(given, x.where);
  const std::uint32_t dim = axis_of("gather", x, axis);
  if (x.tensor.shape().size() == ops::max_rank && index.shape().size() == ops::max_rank)
    return gather_flat(x, index, dim);
  Tensor y = moved(x, [&](const Tensor& t) {
    return make(kinds::gather, graph::AxisAttributes{dim}, {t, index}, x.where);
  });
  check_indices("gather", index, x.tensor.shape()[dim], x.where);
  return y;
}

Tensor scatter_add(In x, const Tensor& given, const Tensor& source, int axis) {
  const Tensor index = as_indices(given, x.where);
  const std::uint32_t dim = axis_of("scatter_add", x, axis);
  Tensor y =
      make(kinds::scatter_add, graph::AxisAttributes{dim}, {x.tensor, index, source}, x.where);
  check_indices("scatter_add", index, x.tensor.shape()[dim], x.where);
  return y;
}

namespace {

/// index_copy of types that its kernel does not move: the numbers of the source's rows are put in
/// their places, and the rows are taken by these.
Tensor copied_by_number(In table, const Tensor& indices, const Tensor& source) {
  const Where where = table.where;
  const Device device = table.tensor.device();
  const Tensor none = device.full({table.tensor.shape()[0], 1}, -1, DType::i32, where);
  const std::uint64_t rows = source.shape()[0];
  const Tensor numbers = device.arange(rows, 0, 1, DType::i32, where).reshape({rows, 1}, where);
  const Tensor from = make(kinds::index_copy, {}, {none, indices, numbers}, where);
  const Tensor row = maximum({from.reshape({table.tensor.shape()[0]}, where), where}, 0.0);
  const Tensor chosen = greater_equal({from, where}, 0.0);
  return weft::where({chosen, where}, take({source, where}, row, 0), table.tensor);
}

}  // namespace

Tensor index_copy(In table, const Tensor& given, const Tensor& source) {
  const Tensor indices = as_indices(given, table.where);
  Tensor y = make(kinds::index_copy, {}, {table.tensor, indices, source}, table.where);
  check_indices("index_copy", indices, table.tensor.shape()[0], table.where);
  const DType type = table.tensor.dtype();
  if (!is_float(type) && type != DType::i32)
    y = source.size() == 0 ? table.tensor : copied_by_number(table, indices, source);
  return y;
}

Tensor pad(In x, const Shape& low, const Shape& high, Edge edge) {
  Shape shape = x.tensor.shape();
  if (low.size() != shape.size() || high.size() != shape.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("pad of a tensor of shape {} needs a number before and after each dimension; "
                  "{} and {} were given ({}).",
                  ops::describe(shape), low.size(), high.size(),
                  graph::describe_place("pad", x.where)));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (__builtin_add_overflow(shape[i], low[i], &shape[i]) ||
        __builtin_add_overflow(shape[i], high[i], &shape[i])) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("pad cannot add {} and {} elements to a tensor of shape {} ({}).",
                            low[i], high[i], ops::describe(x.tensor.shape()),
                            graph::describe_place("pad", x.where)));
    }
  }
  const ops::border::Mode mode = edge == Edge::replicate  ? ops::border::Mode::replicate
                                 : edge == Edge::circular ? ops::border::Mode::circular
                                                          : ops::border::Mode::reflect;
  return moved(x, [&](const Tensor& t) {
    return make(kinds::border, graph::BorderAttributes{{low.begin(), low.end()}, shape, mode}, {t},
                x.where);
  });
}

Tensor roll(In x, const std::vector<std::int64_t>& places) {
  if (places.size() != x.tensor.shape().size()) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("roll of a tensor of shape {} needs a number of places for each dimension; "
                  "{} were given ({}).",
                  ops::describe(x.tensor.shape()), places.size(),
                  graph::describe_place("roll", x.where)));
  }
  if (places.empty()) return x.tensor;
  // A whole turn changes nothing.
  std::vector<std::int64_t> rest = places;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto extent = static_cast<std::int64_t>(x.tensor.shape()[i]);
    rest[i] = extent == 0 ? 0 : rest[i] % extent;
  }
  return moved(x, [&](const Tensor& t) {
    return make(kinds::border,
                graph::BorderAttributes{rest, t.shape(), ops::border::Mode::circular}, {t},
                x.where);
  });
}

Tensor tile(In x, const std::vector<std::uint64_t>& given) {
  const graph::Called called("tile", x.where);
  Shape shape = x.tensor.shape();
  // As in numpy: dimensions and numbers are counted from the end, and 1 stands for what is missing.
  std::vector<std::uint64_t> times = given;
  if (times.size() < shape.size()) times.insert(times.begin(), shape.size() - times.size(), 1);
  Tensor source = x.tensor;
  if (times.size() > shape.size()) {
    shape.insert(shape.begin(), times.size() - shape.size(), 1);
    source = source.reshape(shape, x.where);
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (__builtin_mul_overflow(shape[i], times[i], &shape[i])) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("Dimension {} of a tensor of shape {} cannot be repeated {} times "
                            "({}).",
                            i, ops::describe(x.tensor.shape()), times[i],
                            graph::describe_place("tile", x.where)));
    }
  }
  return make(kinds::tile, graph::ShapeAttributes{shape}, {source}, x.where);
}

Tensor tril(In x, std::int64_t diagonal) {
  const graph::Called called("tril", x.where);
  return moved(x, [&](const Tensor& t) {
    return band_part({t, x.where}, std::numeric_limits<std::int32_t>::min(), diagonal);
  });
}

Tensor triu(In x, std::int64_t diagonal) {
  const graph::Called called("triu", x.where);
  return moved(x, [&](const Tensor& t) {
    return band_part({t, x.where}, diagonal, std::numeric_limits<std::int32_t>::max());
  });
}

namespace {

Sorted sorted_plain(In x, std::uint64_t count, bool descending) {
  const auto node =
      graph::make_node(kinds::sort, graph::SortAttributes{count, descending}, {x.tensor}, x.where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

/// Equal elements keep their order: sorted by the low words first and then by the high ones, 64
/// bits are in order.
Sorted sorted_wide(In x, std::uint64_t count, bool descending) {
  const std::uint64_t all = x.tensor.shape().back();
  const int last = -1;
  const Tensor low = low_words(x).to(DType::u32, x.where);
  const Tensor first = sorted_plain({low, x.where}, all, descending).indices;
  const Tensor high = gather({high_words(x), x.where}, first, last);
  const Tensor second = sorted_plain({high, x.where}, count, descending).indices;
  const Tensor indices = gather({first, x.where}, second, last);
  return {gather(x, indices, last), indices};
}

Sorted sorted_last(In x, std::uint64_t count, bool descending) {
  const DType dtype = x.tensor.dtype();
  if (dtype == DType::i64 && !x.tensor.shape().empty() && count <= x.tensor.shape().back()) {
    return sorted_wide(x, count, descending);
  }
  if (is_float(dtype) || is_quantized(dtype) || size_of(dtype) >= 4) {
    return sorted_plain(x, count, descending);
  }
  const Tensor words = x.tensor.to(DType::i32, x.where);
  const Sorted found = sorted_plain({words, x.where}, count, descending);
  return {found.values.to(dtype, x.where), found.indices};
}

/// The first `count` elements in order, of the last dimension or along another one through views.
Sorted sorted(In x, std::uint64_t count, std::uint32_t axis, bool descending) {
  Tensor last = axis_to_last(x, axis);
  Shape shape = last.shape();
  // Kernels that take elements by their indices have a dimension less than tensors may have.
  const bool most = shape.size() == ops::max_rank;
  if (most) last = last.reshape({outside(shape), shape.back()}, x.where);
  Sorted found = sorted_last({last, x.where}, count, descending);
  if (most) {
    shape.back() = count;
    found = {found.values.reshape(shape, x.where), found.indices.reshape(shape, x.where)};
  }
  return {axis_from_last({found.values, x.where}, axis),
          axis_from_last({found.indices, x.where}, axis)};
}

}  // namespace

Sorted sort(In x, int axis, bool descending) {
  const std::uint32_t number = axis_of("sort", x, axis);
  return sorted(x, x.tensor.shape()[number], number, descending);
}

Tensor argsort(In x, int axis, bool descending) {
  const std::uint32_t number = axis_of("argsort", x, axis);
  return sorted(x, x.tensor.shape()[number], number, descending).indices;
}

Sorted top_k(In x, std::uint64_t count, int axis, bool largest) {
  const std::uint32_t number = axis_of("top_k", x, axis);
  if (count > x.tensor.shape()[number]) {
    throw Error(ErrorCode::invalid_argument,
                formatted("top_k cannot take {} elements along axis {} of a tensor of shape {} "
                          "({}).",
                          count, axis, ops::describe(x.tensor.shape()),
                          graph::describe_place("top_k", x.where)));
  }
  return sorted(x, count, number, largest);
}

}  // namespace weft
