#include "weft/bsr.hpp"

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
#include "weft/shape.hpp"

namespace weft {
namespace {

bool is_list(const Tensor& x) { return x.dtype() == DType::i32 && x.shape().size() == 1; }

/// Blocks [count, block, block], starts and as many columns of blocks.
void need_bsr(std::string_view function, const Tensor& values, const Tensor& starts,
              const Tensor& indices, const Where& at) {
  need(function, "values", values, at);
  need(function, "starts", starts, at);
  need(function, "indices", indices, at);
  const Shape& shape = values.shape();
  if (shape.size() == 3 && shape[1] == shape[2] && shape[1] > 0 && is_float(values.dtype()) &&
      is_list(starts) && is_list(indices) && starts.size() > 0 && indices.size() == shape[0]) {
    return;
  }
  refuse(function, at,
         formatted("{} needs values [count, block, block] of a float type, starts i32 [rows / "
                   "block + 1] and indices i32 [count]; they are {}, {} and {}.",
                   function, describe(values), describe(starts), describe(indices)));
}

void need_multiple(std::string_view function, std::string_view what, std::uint64_t size,
                   std::uint64_t block, const Where& at) {
  if (block > 0 && size % block == 0) return;
  refuse(function, at,
         formatted("{} needs {} that are a multiple of the size of a block; they are {} and {}.",
                   function, what, size, block));
}

Tensor numbers(const Tensor& like, std::uint64_t count, const Where& at) {
  return like.device().arange(count, 0, 1, DType::i32, at);
}

Tensor whole(const Tensor& like, std::uint64_t value, const Where& at) {
  return like.device().full({}, static_cast<double>(value), DType::i32, at);
}

/// x [rows, columns] as [blocks down, blocks across, block, block].
Tensor in_blocks(const Tensor& x, std::uint64_t block, const Where& at) {
  const Shape& shape = x.shape();
  return x.reshape({shape[0] / block, block, shape[1] / block, block}, at)
      .permute({0, 2, 1, 3}, at);
}

}  // namespace

Bsr bsr_from_dense(In x, std::uint64_t block) {
  need("bsr_from_dense", "x", x.tensor, x.where);
  const Where& at = x.where;
  const Shape& shape = x.tensor.shape();
  if (shape.size() != 2 || !is_float(x.tensor.dtype())) {
    refuse("bsr_from_dense", at,
           formatted("bsr_from_dense needs a matrix of a float type; it was given {}.",
                     describe(x.tensor)));
  }
  need_multiple("bsr_from_dense", "rows", shape[0], block, at);
  need_multiple("bsr_from_dense", "columns", shape[1], block, at);
  const std::uint64_t down = shape[0] / block;
  const std::uint64_t across = shape[1] / block;
  if (x.tensor.size() == 0) {
    return {x.tensor.device().full({0, block, block}, 0, x.tensor.dtype(), at),
            x.tensor.device().full({down + 1}, 0, DType::i32, at),
            x.tensor.device().full({0}, 0, DType::i32, at)};
  }
  const Tensor blocks = in_blocks(x.tensor, block, at).reshape({down * across, block * block}, at);
  const Tensor zero = x.tensor.device().full({}, 0, x.tensor.dtype(), at);
  const Tensor filled =
      max(In(not_equal(In(blocks, at), zero).to(DType::i32, at), at), {1});  // 0 or 1 for each
  const Csr places = csr_from_dense(In(filled.to(DType::f32, at).reshape({down, across}, at), at));
  const Tensor rows = csr_rows(In(places.starts, at), places.indices.size());
  const Tensor which = In(rows, at) * static_cast<double>(across) + In(places.indices, at);
  const std::uint64_t count = places.indices.size();
  const Tensor values = count > 0
                            ? embedding(In(blocks, at), which).reshape({count, block, block}, at)
                            : x.tensor.device().full({0, block, block}, 0, x.tensor.dtype(), at);
  return {values, places.starts, places.indices};
}

Bsr bsr_from_csr(In values, const Tensor& starts, const Tensor& indices, std::uint64_t block) {
  const Where& at = values.where;
  need("bsr_from_csr", "values", values.tensor, at);
  need("bsr_from_csr", "starts", starts, at);
  need("bsr_from_csr", "indices", indices, at);
  if (values.tensor.shape().size() != 1 || !is_float(values.tensor.dtype()) || !is_list(starts) ||
      !is_list(indices) || starts.size() == 0 || indices.size() != values.tensor.size()) {
    refuse("bsr_from_csr", at,
           formatted("bsr_from_csr needs values [count] of a float type, starts i32 [rows + 1] and "
                     "indices i32 [count]; they are {}, {} and {}.",
                     describe(values.tensor), describe(starts), describe(indices)));
  }
  const std::uint64_t count = values.tensor.size();
  need_multiple("bsr_from_csr", "rows", starts.size() - 1, block, at);
  const std::uint64_t down = (starts.size() - 1) / block;
  if (count == 0) {
    return {values.tensor.reshape({0, block, block}, at),
            starts.device().full({down + 1}, 0, DType::i32, at), indices};
  }
  const Tensor size = whole(starts, block, at);
  const Tensor rows = csr_rows(In(starts, at), count);
  const Tensor row = floor_divide(In(rows, at), size);
  const Tensor column = floor_divide(In(indices, at), size);
  const Tensor inside = In(rows - In(row * In(size, at), at), at) * static_cast<double>(block) +
                        In(indices - In(column * In(size, at), at), at);
  // The elements by blocks, and which of the blocks that there are each belongs to.
  const Tensor by_column = argsort(In(column, at));
  const Sorted by_row = sort(In(gather(In(row, at), by_column, 0), at));
  const Tensor order = gather(In(by_column, at), by_row.indices, 0);
  const Pairs blocks = distinct_pairs(by_row.values, gather(In(column, at), order, 0), at);
  const Tensor places = In(blocks.numbers, at) * static_cast<double>(block * block) +
                        In(gather(In(inside, at), order, 0), at);
  const Tensor zeros = starts.device().full({blocks.count * block * block}, 0, DType::f32, at);
  return {scatter_add(In(zeros, at), places, gather(values, order, 0).to(DType::f32, at), 0)
              .reshape({blocks.count, block, block}, at)
              .to(values.tensor.dtype(), at),
          searchsorted(In(blocks.rows, at), numbers(starts, down + 1, at)), blocks.columns};
}

Tensor bsr_to_dense(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns) {
  need_bsr("bsr_to_dense", values.tensor, starts, indices, values.where);
  const Where& at = values.where;
  const std::uint64_t block = values.tensor.shape()[1];
  need_multiple("bsr_to_dense", "columns", columns, block, at);
  const std::uint64_t count = indices.size();
  const std::uint64_t down = starts.size() - 1;
  const std::uint64_t across = columns / block;
  if (count == 0 || down * across == 0) {
    return starts.device().full({down * block, columns}, 0, values.tensor.dtype(), at);
  }
  const Tensor rows = csr_rows(In(starts, at), count);
  const Tensor which = In(rows, at) * static_cast<double>(across) + In(indices, at);
  return segment_sum(In(values.tensor.reshape({count, block * block}, at), at), which,
                     down * across)
      .reshape({down, across, block, block}, at)
      .permute({0, 2, 1, 3}, at)
      .reshape({down * block, columns}, at);
}

Csr bsr_to_csr(In values, const Tensor& starts, const Tensor& indices) {
  need_bsr("bsr_to_csr", values.tensor, starts, indices, values.where);
  const Where& at = values.where;
  const std::uint64_t block = values.tensor.shape()[1];
  const std::uint64_t count = indices.size();
  const Shape all{count, block, block};
  const auto of_blocks = [&](const Tensor& x, const Shape& inside) {
    const Tensor inner = numbers(starts, block, at).reshape(inside, at);
    return ((x * static_cast<double>(block)).reshape({count, 1, 1}, at) + In(inner, at))
        .broadcast_to(all, at)
        .reshape({count * block * block}, at);
  };
  return csr_from_coo(In(values.tensor.reshape({count * block * block}, at), at),
                      of_blocks(csr_rows(In(starts, at), count), {1, block, 1}),
                      of_blocks(indices, {1, 1, block}), (starts.size() - 1) * block);
}

Bsr bsr_transpose(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns) {
  need_bsr("bsr_transpose", values.tensor, starts, indices, values.where);
  const Where& at = values.where;
  const std::uint64_t block = values.tensor.shape()[1];
  need_multiple("bsr_transpose", "columns", columns, block, at);
  const std::uint64_t count = indices.size();
  const Tensor firsts = numbers(starts, columns / block + 1, at);
  if (count == 0) {
    return {values.tensor, starts.device().full(firsts.shape(), 0, DType::i32, at), indices};
  }
  const Sorted order = sort(In(indices, at));
  return {take(values, order.indices, 0).permute({0, 2, 1}, at),
          searchsorted(In(order.values, at), firsts),
          gather(In(csr_rows(In(starts, at), count), at), order.indices, 0)};
}

Tensor bsr_matmul(In values, const Tensor& starts, const Tensor& indices, const Tensor& x) {
  need_bsr("bsr_matmul", values.tensor, starts, indices, values.where);
  need("bsr_matmul", "x", x, values.where);
  const Where& at = values.where;
  const std::uint64_t block = values.tensor.shape()[1];
  const std::size_t rank = x.shape().size();
  if ((rank != 1 && rank != 2) || !is_float(x.dtype())) {
    refuse("bsr_matmul", at,
           formatted("bsr_matmul needs x [columns] or [columns, n] of a float type; it is {}.",
                     describe(x)));
  }
  need_multiple("bsr_matmul", "columns", x.shape()[0], block, at);
  const std::uint64_t n = rank == 1 ? 1 : x.shape()[1];
  const std::uint64_t down = starts.size() - 1;
  const std::uint64_t count = indices.size();
  const Shape shape = rank == 1 ? Shape{down * block} : Shape{down * block, n};
  if (count == 0 || x.size() == 0 || down == 0) return x.device().full(shape, 0, x.dtype(), at);
  const Tensor rows = embedding(In(x.reshape({x.shape()[0] / block, block * n}, at), at), indices)
                          .reshape({count, block, n}, at);
  const Tensor products =
      matmul(In(values.tensor.to(x.dtype(), at), at), rows, {.dtype = DType::f32});
  const graph::SegmentAttributes sums{static_cast<std::uint32_t>(ops::segments::Function::sum)};
  return graph::make(graph::kinds::segment_reduce, sums,
                     {starts, numbers(starts, count, at), Tensor(),
                      products.reshape({count, block * n}, at)},
                     at)
      .reshape(shape, at)
      .to(x.dtype(), at);
}

Tensor bsr_sampled_matmul(In starts, const Tensor& indices, const Tensor& x,
                          const Tensor& of_columns, std::uint64_t block) {
  const Where& at = starts.where;
  need("bsr_sampled_matmul", "starts", starts.tensor, at);
  need("bsr_sampled_matmul", "indices", indices, at);
  need("bsr_sampled_matmul", "x", x, at);
  need("bsr_sampled_matmul", "of_columns", of_columns, at);
  const bool fits = is_list(starts.tensor) && is_list(indices) && starts.tensor.size() > 0 &&
                    x.shape().size() == 2 && of_columns.shape().size() == 2 && block > 0 &&
                    x.shape()[1] == of_columns.shape()[1] && is_float(x.dtype()) &&
                    of_columns.dtype() == x.dtype() &&
                    x.shape()[0] == (starts.tensor.size() - 1) * block &&
                    of_columns.shape()[0] % block == 0;
  if (!fits) {
    refuse("bsr_sampled_matmul", at,
           formatted("bsr_sampled_matmul with starts {} and blocks of {} needs x [rows, n] and "
                     "of_columns [columns, n] of one float type; they are {} and {}.",
                     describe(starts.tensor), block, describe(x), describe(of_columns)));
  }
  const std::uint64_t count = indices.size();
  const std::uint64_t n = x.shape()[1];
  if (count == 0 || n == 0) return x.device().full({count, block, block}, 0, x.dtype(), at);
  const auto picked = [&](const Tensor& all, const Tensor& which) {
    return embedding(In(all.reshape({all.shape()[0] / block, block * n}, at), at), which)
        .reshape({count, block, n}, at);
  };
  return matmul(In(picked(x, csr_rows(starts, count)), at),
                picked(of_columns, indices).transpose(at), {.dtype = x.dtype()});
}

}  // namespace weft
