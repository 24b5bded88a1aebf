#include <algorithm>
#include <numeric>

#include "onnx/host.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

/// Indices as i32, counted from the front.
Tensor from_front(const Tensor& indices, std::uint64_t extent) {
  const Tensor i = as(indices, DType::i32);
  return where(less(i, zeros_like(i)), i + static_cast<double>(extent), i);
}

Values gather(Call& c) {
  const Tensor x = c.t(0);
  const int axis = int_axis(c, c.i("axis", 0), x.shape().size());
  const Tensor indices = c.t(1);
  return {take(x,
               is_integer(indices.dtype()) && size_of(indices.dtype()) < 4 ? indices.to(DType::i32)
                                                                           : indices,
               axis)};
}

/// x cut to the extents of indices, except along an axis.
Tensor cut_to(Tensor x, const Shape& shape, std::size_t axis) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != axis && x.shape().at(d) != shape[d]) x = x.slice(static_cast<int>(d), 0, shape[d]);
  }
  return x;
}

Values gather_elements(Call& c) {
  const Tensor x = c.t(0);
  const std::size_t axis = axis_of(c, c.i("axis", 0), x.shape().size());
  if (c.shape(1).size() != x.shape().size())
    c.wrong(formatted("Indices {} do not fit {}.", describe(c.in(1)), describe(c.in(0))));
  return {weft::gather(cut_to(x, c.shape(1), axis), from_front(c.t(1), x.shape().at(axis)),
                       static_cast<int>(axis))};
}

/// Places in the first k dimensions (after `batch` ones) as numbers of rows, and the rows' extents.
struct Rows {
  Tensor numbers;           ///< i32, one for each index.
  std::uint64_t count = 1;  ///< Of all rows.
  Shape rest;               ///< What is in a row.
  Shape shape;              ///< Of the indices, without their last dimension.
};
Rows rows_of(const Call& c, const Shape& data, const Value& indices, std::size_t batch) {
  const Shape& at = indices.shape();
  if (at.empty() || at.back() + batch > data.size() || at.size() <= batch)
    c.wrong(formatted("Indices {} do not fit {}.", text_of(at), text_of(data)));
  const auto depth = static_cast<std::size_t>(at.back());
  Rows out;
  for (std::size_t d = 0; d < batch; ++d) {
    if (at[d] != data[d])
      c.wrong(formatted("Indices {} have other batches than {}.", text_of(at), text_of(data)));
  }
  out.rest.assign(data.begin() + static_cast<std::ptrdiff_t>(batch + depth), data.end());
  out.shape.assign(at.begin(), at.end() - 1);
  for (std::size_t d = 0; d < batch + depth; ++d) out.count *= data[d];
  const Tensor all = indices.on(c.device());
  const int last = static_cast<int>(at.size()) - 1;
  Tensor number = zeros(c.device(), out.shape, DType::i32);
  for (std::size_t d = 0; d < batch; ++d) {
    Shape shape(out.shape.size(), 1);
    shape[d] = out.shape[d];
    number = number * static_cast<double>(data[d]) +
             c.device().arange(shape[d], 0, 1, DType::i32).reshape(shape);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    const Tensor part = all.slice(last, static_cast<I>(k), 1).reshape(out.shape);
    number = number * static_cast<double>(data[batch + k]) + from_front(part, data[batch + k]);
  }
  out.numbers = number;
  return out;
}

Values gather_nd(Call& c) {
  const Tensor x = c.t(0);
  const auto batch = static_cast<std::size_t>(c.i("batch_dims", 0));
  const Rows rows = rows_of(c, x.shape(), c.in(1), batch);
  Shape shape = rows.shape;
  shape.insert(shape.end(), rows.rest.begin(), rows.rest.end());
  if (count_of(shape) == 0) return {zeros(c.device(), shape, DType::f32).to(x.dtype())};
  const Tensor flat = take(x.reshape({rows.count, count_of(rows.rest)}),
                           rows.numbers.reshape({count_of(rows.shape)}), 0);
  return {flat.reshape(shape)};
}

/// A scatter with a function of the old and the new element, on the host.
Array combined(const Call& c, const std::string& how, const Array& data, const Array& updates,
               const std::vector<std::uint64_t>& places) {
  const auto run = [&](auto values, const auto& fresh) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= values.size())
        c.wrong(formatted("An index leads to element {} of {}.", places[i], values.size()));
      auto& at = values[places[i]];
      if (how == "mul")
        at *= fresh[i];
      else if (how == "max")
        at = std::max(at, fresh[i]);
      else if (how == "min")
        at = std::min(at, fresh[i]);
      else if (how == "add")
        at += fresh[i];
      else
        at = fresh[i];
    }
    return array_of(data.type, data.shape, values);
  };
  return is_float(data.type) ? run(data.doubles(), updates.doubles())
                             : run(data.ints(), updates.ints());
}

void check_reduction(const Call& c, const std::string& how) {
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (how == known) return;
  }
  c.refuse(formatted("The reduction '{}' is not known.", how));
}

/// x, but with source (of the indices' shape) at flat places; i32.
Tensor placed(const Tensor& x, const Tensor& places, const Tensor& source, std::uint64_t width) {
  return index_copy(x.reshape({x.size() / width, width}), places.reshape({places.size()}),
                    source.reshape({places.size(), width}))
      .reshape(x.shape());
}

Values scatter_nd(Call& c) {
  const std::string how = c.s("reduction", "none");
  check_reduction(c, how);
  const bool on_device = dtype_of(c.in(0).type()).has_value() &&
                         (how == "none" || (how == "add" && is_float(c.in(0).type())));
  if (!on_device) (void)c.host(1);
  const Rows rows = rows_of(c, c.shape(0), c.in(1), 0);
  const std::uint64_t width = count_of(rows.rest);
  if (count_of(rows.shape) * width == 0) return {c.in(0)};
  if (count_of(rows.shape) * width != c.in(2).size())
    c.wrong(formatted("{} updates do not fit indices {}.", describe(c.in(2)), describe(c.in(1))));
  if (how == "none" && dtype_of(c.in(0).type()))
    return {placed(c.t(0), rows.numbers, c.t(2), width)};
  if (how == "add" && dtype_of(c.in(0).type()) && is_float(c.t(0).dtype())) {
    const Tensor x = c.t(0);
    const std::uint64_t count = count_of(rows.shape);
    const Tensor index = rows.numbers.reshape({count, 1}).broadcast_to({count, width});
    return {scatter_add(x.reshape({rows.count, width}), index, c.t(2).reshape({count, width}), 0)
                .reshape(x.shape())};
  }
  const auto numbers = c.host(Value(rows.numbers)).ints();
  std::vector<std::uint64_t> places;
  for (const I number : numbers) {
    for (std::uint64_t i = 0; i < width; ++i)
      places.push_back(static_cast<std::uint64_t>(number) * width + i);
  }
  return {combined(c, how, c.host(0), c.host(2), places)};
}

Values scatter_elements(Call& c) {
  const std::string how = c.s("reduction", "none");
  check_reduction(c, how);
  const Shape& shape = c.shape(0);
  const std::size_t axis = axis_of(c, c.i("axis", 0), shape.size());
  const Shape& at = c.shape(1);
  if (at.size() != shape.size() || at != c.shape(2))
    c.wrong(formatted("Indices {} and updates {} do not fit {}.", describe(c.in(1)),
                      describe(c.in(2)), describe(c.in(0))));
  if (count_of(at) == 0) return {c.in(0)};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != axis && at[d] > shape[d])
      c.wrong(formatted("Indices {} reach past {}.", describe(c.in(1)), describe(c.in(0))));
  }
  if (how == "add" && dtype_of(c.in(0).type()) && is_float(c.t(0).dtype()) &&
      cut_to(c.t(0), at, axis).shape() == shape) {
    return {scatter_add(c.t(0), from_front(c.t(1), shape[axis]), c.t(2), static_cast<int>(axis))};
  }
  if (how == "none" && dtype_of(c.in(0).type())) {
    Tensor number = zeros(c.device(), at, DType::i32);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      Shape one(shape.size(), 1);
      one[d] = at[d];
      const Tensor part = d == axis ? from_front(c.t(1), shape[d])
                                    : c.device().arange(at[d], 0, 1, DType::i32).reshape(one);
      number = number * static_cast<double>(shape[d]) + part;
    }
    return {placed(c.t(0), number, c.t(2), 1)};
  }
  const auto indices = c.ints(1);
  std::vector<std::uint64_t> places;
  Shape where(shape.size(), 0);
  for (I index : indices) {
    if (index < 0) index += static_cast<I>(shape[axis]);
    if (index < 0 || index >= static_cast<I>(shape[axis]))
      c.wrong(formatted("Index {} is outside of {} elements.", index, shape[axis]));
    std::uint64_t place = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
      place = place * shape[d] + (d == axis ? static_cast<std::uint64_t>(index) : where[d]);
    places.push_back(place);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++where[d] < at[d]) break;
      where[d] = 0;
    }
  }
  return {combined(c, how, c.host(0), c.host(2), places)};
}

Values one_hot(Call& c) {
  const I depth = c.scalar_int(1);
  if (depth < 0 || depth > I{1} << 30) c.wrong(formatted("The depth is {}.", depth));
  const Tensor given = c.t(0);
  const std::size_t rank = given.shape().size() + 1;
  const std::size_t axis = axis_of(c, c.i("axis", -1), rank);
  const Tensor index =
      unsqueeze(from_front(given, static_cast<std::uint64_t>(depth)), static_cast<int>(axis));
  Shape shape(rank, 1);
  shape[axis] = static_cast<std::uint64_t>(depth);
  const Tensor places = c.device().arange(shape[axis], 0, 1, DType::i32).reshape(shape);
  const Tensor values = c.t(2);
  const Tensor off = values.slice(0, 0, 1).reshape({});
  const Tensor on = values.slice(0, 1, 1).reshape({});
  return {as(where(equal(index, places), on, off), values.dtype())};
}

/// Rows of an update in a cache, from a place of each batch on.
Values tensor_scatter(Call& c) {
  const Tensor cache = c.t(0);
  const Tensor update = c.t(1);
  const Shape& s = cache.shape();
  const std::size_t axis = axis_of(c, c.i("axis", -2), s.size());
  if (axis == 0) c.wrong("The axis cannot be that of the batch.");
  if (update.shape().size() != s.size())
    c.wrong(formatted("{} is no part of {}.", describe(c.in(1)), describe(c.in(0))));
  const std::uint64_t steps = update.shape().at(axis);
  const std::uint64_t extent = s[axis];
  Shape by_batch(s.size(), 1);
  by_batch[0] = s[0];
  Shape by_step(s.size(), 1);
  by_step[axis] = steps;
  Tensor at = c.device().arange(steps, 0, 1, DType::i32).reshape(by_step);
  if (c.has(2)) at = at + as(c.t(2), DType::i32).reshape(by_batch);
  if (c.s("mode", "linear") == "circular")
    at = remainder(at, full_like(at, static_cast<double>(extent)));
  Tensor number = zeros(c.device(), update.shape(), DType::i32);
  for (std::size_t d = 0; d < s.size(); ++d) {
    Shape one(s.size(), 1);
    one[d] = update.shape().at(d);
    number = number * static_cast<double>(s[d]) +
             (d == axis ? at : c.device().arange(one[d], 0, 1, DType::i32).reshape(one));
  }
  return {placed(cache, number, update, 1)};
}

}  // namespace

void add_index(Table& table) {
  table["Gather"] = gather;
  table["GatherElements"] = gather_elements;
  table["GatherND"] = gather_nd;
  table["ScatterND"] = scatter_nd;
  table["ScatterElements"] = scatter_elements;
  table["Scatter"] = scatter_elements;
  table["OneHot"] = one_hot;
  table["TensorScatter"] = tensor_scatter;
}

}  // namespace weft::onnx
