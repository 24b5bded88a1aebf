#include "weft/csr.hpp"

#include <string_view>

#include "api/arguments.hpp"
#include "api/pairs.hpp"
#include "base/format.hpp"
#include "describe/attributes/segment.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/segments/segments.hpp"
#include "weft/device.hpp"
#include "weft/math.hpp"
#include "weft/neighbours.hpp"

namespace weft {
namespace {

using Segment = ops::segments::Function;

void need_whole(std::string_view function, std::string_view what, const Tensor& x,
                const Where& at) {
  need(function, what, x, at);
  if (x.dtype() == DType::i32 && x.shape().size() == 1) return;
  refuse(function, at,
         formatted("{} needs {} of i32 [n]; they are {}.", function, what, describe(x)));
}

void need_values(std::string_view function, const Tensor& x, const Where& at) {
  need(function, "values", x, at);
  if (is_float(x.dtype()) && x.shape().size() == 1) return;
  refuse(function, at,
         formatted("{} needs values [count] of a float type; they are {}.", function, describe(x)));
}

/// Values with as many columns, and starts of at least no row.
void need_csr(std::string_view function, const Tensor& values, const Tensor& starts,
              const Tensor& indices, const Where& at) {
  need_values(function, values, at);
  need_whole(function, "starts", starts, at);
  need_whole(function, "indices", indices, at);
  if (indices.shape() == values.shape() && starts.size() > 0) return;
  refuse(
      function, at,
      formatted("{} needs values [count], starts i32 [rows + 1] and indices i32 [count]; they are "
                "{}, {} and {}.",
                function, describe(values), describe(starts), describe(indices)));
}

Tensor numbers(const Tensor& like, std::uint64_t count, const Where& at) {
  return like.device().arange(count, 0, 1, DType::i32, at);
}

/// The starts of `count` rows from the ascending rows of elements.
Tensor starts_of(const Tensor& rows, std::uint64_t count, const Where& at) {
  return searchsorted(In(rows, at), numbers(rows, count + 1, at));
}

Tensor reduced(Segment function, const Tensor& starts, const Tensor& places, const Tensor& weights,
               const Tensor& x, const Where& at) {
  const graph::SegmentAttributes attributes{static_cast<std::uint32_t>(function)};
  return graph::make(graph::kinds::segment_reduce, attributes, {starts, places, weights, x}, at);
}

}  // namespace

Tensor csr_rows(In starts, std::uint64_t count) {
  need_whole("csr_rows", "starts", starts.tensor, starts.where);
  return searchsorted(starts, numbers(starts.tensor, count, starts.where), true) - 1.0;
}

Csr csr_from_dense(In x) {
  need("csr_from_dense", "x", x.tensor, x.where);
  const Where& at = x.where;
  const Shape& shape = x.tensor.shape();
  if (shape.size() != 2 || !is_float(x.tensor.dtype())) {
    refuse("csr_from_dense", at,
           formatted("csr_from_dense needs a matrix of a float type; it was given {}.",
                     describe(x.tensor)));
  }
  if (x.tensor.size() == 0) {
    return {x.tensor.device().full({0}, 0, x.tensor.dtype(), at),
            x.tensor.device().full({shape[0] + 1}, 0, DType::i32, at),
            x.tensor.device().full({0}, 0, DType::i32, at)};
  }
  const Tensor flat = x.tensor.reshape({x.tensor.size()}, at);
  const Tensor zero = flat.device().full({}, 0, flat.dtype(), at);
  const Tensor empty = equal(In(flat, at), zero).to(DType::i32, at);
  const auto count =
      flat.size() - static_cast<std::uint64_t>(sum(In(empty, at)).item<std::int32_t>());
  // What is not 0 comes first, in order.
  const Tensor places = argsort(In(empty, at)).slice(0, 0, count, 1, at);
  const Tensor width = flat.device().full({}, static_cast<double>(shape[1]), DType::i32, at);
  const Tensor rows = floor_divide(In(places, at), width);
  return {gather(In(flat, at), places, 0), starts_of(rows, shape[0], at),
          places - In(rows * In(width, at), at)};
}

Csr csr_from_coo(In values, const Tensor& rows, const Tensor& columns, std::uint64_t row_count) {
  need_values("csr_from_coo", values.tensor, values.where);
  need_whole("csr_from_coo", "rows", rows, values.where);
  need_whole("csr_from_coo", "columns", columns, values.where);
  const Where& at = values.where;
  if (rows.shape() != values.tensor.shape() || columns.shape() != rows.shape()) {
    refuse(
        "csr_from_coo", at,
        formatted("csr_from_coo needs as many rows and columns as values; they are {}, {} and {}.",
                  describe(rows), describe(columns), describe(values.tensor)));
  }
  if (values.tensor.size() == 0) {
    return {values.tensor, rows.device().full({row_count + 1}, 0, DType::i32, at), columns};
  }
  // By columns, and then by rows, which keeps the order of columns.
  const Tensor by_column = argsort(In(columns, at));
  const Sorted by_row = sort(In(gather(In(rows, at), by_column, 0), at));
  const Tensor order = gather(In(by_column, at), by_row.indices, 0);
  return {gather(values, order, 0), starts_of(by_row.values, row_count, at),
          gather(In(columns, at), order, 0)};
}

Csr csr_coalesce(In values, const Tensor& starts, const Tensor& indices) {
  need_csr("csr_coalesce", values.tensor, starts, indices, values.where);
  const Where& at = values.where;
  const std::uint64_t count = values.tensor.size();
  if (count == 0) return {values.tensor, starts, indices};
  const Pairs places = distinct_pairs(csr_rows(In(starts, at), count), indices, at);
  const Tensor sums =
      segment_sum(In(values.tensor.reshape({count, 1}, at), at), places.numbers, places.count);
  return {sums.reshape({places.count}, at), starts_of(places.rows, starts.size() - 1, at),
          places.columns};
}

Tensor csr_to_dense(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns) {
  need_csr("csr_to_dense", values.tensor, starts, indices, values.where);
  const Where& at = values.where;
  const std::uint64_t rows = starts.size() - 1;
  const Tensor zeros = starts.device().full({rows * columns}, 0, DType::f32, at);
  if (values.tensor.size() == 0 || zeros.size() == 0) {
    return zeros.reshape({rows, columns}, at).to(values.tensor.dtype(), at);
  }
  const Tensor row = csr_rows(In(starts, at), values.tensor.size());
  const Tensor places = In(row, at) * static_cast<double>(columns) + In(indices, at);
  return scatter_add(In(zeros, at), places, values.tensor.to(DType::f32, at), 0)
      .reshape({rows, columns}, at)
      .to(values.tensor.dtype(), at);
}

Tensor csr_add(In values, const Tensor& starts, const Tensor& indices, const Tensor& x) {
  need_csr("csr_add", values.tensor, starts, indices, values.where);
  need("csr_add", "x", x, values.where);
  const Where& at = values.where;
  if (x.shape().size() != 2 || x.shape()[0] + 1 != starts.size() || !is_float(x.dtype())) {
    refuse("csr_add", at,
           formatted("csr_add with starts {} needs x [rows, columns] of a float type; it is {}.",
                     describe(starts), describe(x)));
  }
  if (values.tensor.size() == 0 || x.size() == 0) return x;
  const Tensor rows = csr_rows(In(starts, at), values.tensor.size());
  const Tensor places = In(rows, at) * static_cast<double>(x.shape()[1]) + In(indices, at);
  const Tensor flat = x.to(DType::f32, at).reshape({x.size()}, at);
  return scatter_add(In(flat, at), places, values.tensor.to(DType::f32, at), 0)
      .reshape(x.shape(), at)
      .to(x.dtype(), at);
}

Csr csr_transpose(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns) {
  need_csr("csr_transpose", values.tensor, starts, indices, values.where);
  const Where& at = values.where;
  const Tensor rows = csr_rows(In(starts, at), values.tensor.size());
  if (values.tensor.size() == 0) {
    return {values.tensor, starts.device().full({columns + 1}, 0, DType::i32, at), rows};
  }
  const Sorted order = sort(In(indices, at));
  return {gather(values, order.indices, 0), starts_of(order.values, columns, at),
          gather(In(rows, at), order.indices, 0)};
}

Tensor csr_matmul(In values, const Tensor& starts, const Tensor& indices, const Tensor& x) {
  need_csr("csr_matmul", values.tensor, starts, indices, values.where);
  need("csr_matmul", "x", x, values.where);
  const Where& at = values.where;
  const std::size_t rank = x.shape().size();
  if ((rank != 1 && rank != 2) || !is_float(x.dtype())) {
    refuse("csr_matmul", at,
           formatted("csr_matmul needs x [columns] or [columns, n] of a float type; it is {}.",
                     describe(x)));
  }
  const std::uint64_t n = rank == 1 ? 1 : x.shape()[1];
  const Shape shape = rank == 1 ? Shape{starts.size() - 1} : Shape{starts.size() - 1, n};
  if (values.tensor.size() == 0 || x.size() == 0) return x.device().full(shape, 0, x.dtype(), at);
  return reduced(Segment::sum, starts, indices, values.tensor, x.reshape({x.shape()[0], n}, at), at)
      .reshape(shape, at)
      .to(x.dtype(), at);
}

Tensor csr_sampled_matmul(In starts, const Tensor& indices, const Tensor& x, const Tensor& y) {
  need_whole("csr_sampled_matmul", "starts", starts.tensor, starts.where);
  need_whole("csr_sampled_matmul", "indices", indices, starts.where);
  need("csr_sampled_matmul", "x", x, starts.where);
  need("csr_sampled_matmul", "y", y, starts.where);
  const Where& at = starts.where;
  if (x.shape().size() != 2 || y.shape().size() != 2 || x.shape()[1] != y.shape()[1] ||
      x.shape()[0] + 1 != starts.tensor.size() || !is_float(x.dtype()) || y.dtype() != x.dtype()) {
    refuse(
        "csr_sampled_matmul", at,
        formatted("csr_sampled_matmul with starts {} needs x [rows, n] and y [columns, n] of one "
                  "float type; they are {} and {}.",
                  describe(starts.tensor), describe(x), describe(y)));
  }
  if (indices.size() == 0) return x.device().full({0}, 0, x.dtype(), at);
  return graph::make(graph::kinds::sampled_matmul, {}, {starts.tensor, indices, x, y}, at)
      .to(x.dtype(), at);
}

Tensor csr_row_sums(In values, const Tensor& starts) {
  need_values("csr_row_sums", values.tensor, values.where);
  need_whole("csr_row_sums", "starts", starts, values.where);
  const Where& at = values.where;
  const std::uint64_t count = values.tensor.size();
  if (starts.size() == 0) {
    refuse("csr_row_sums", at, "csr_row_sums needs starts i32 [rows + 1]; they are i32[0].");
  }
  const Shape shape{starts.size() - 1};
  if (count == 0 || starts.size() == 1) {
    return starts.device().full(shape, 0, values.tensor.dtype(), at);
  }
  return reduced(Segment::sum, starts, numbers(starts, count, at), {},
                 values.tensor.to(DType::f32, at).reshape({count, 1}, at), at)
      .reshape(shape, at)
      .to(values.tensor.dtype(), at);
}

Tensor csr_softmax(In values, const Tensor& starts) {
  need_values("csr_softmax", values.tensor, values.where);
  need_whole("csr_softmax", "starts", starts, values.where);
  const Where& at = values.where;
  const std::uint64_t count = values.tensor.size();
  if (count == 0 || starts.size() < 2) return values.tensor;
  const Tensor rows = csr_rows(In(starts, at), count);
  const Tensor places = numbers(starts, count, at);
  const Tensor column = values.tensor.to(DType::f32, at).reshape({count, 1}, at);
  const auto of_row = [&](Segment function, const Tensor& x) {
    return embedding(In(reduced(function, starts, places, {}, x, at), at), rows);
  };
  const Tensor largest = of_row(Segment::max, column.detach(at));
  const Tensor powers = exp(In(column - In(largest, at), at));
  return map("div", {powers, of_row(Segment::sum, powers)}, {}, at)
      .reshape({count}, at)
      .to(values.tensor.dtype(), at);
}

}  // namespace weft
