#include "ops/gemm/gemm.hpp"

#include "base/format.hpp"
#include "capi/arrays.hpp"

namespace weft::capi {
namespace {

/// The size of a product and how its inputs are stored.
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batches = 1;
};

/// A stored matrix of `rows` × `columns`, as the view that the product sees.
ops::View matrix(Arrays& arrays, const weft_matrix* given, std::int64_t rows, std::int64_t columns,
                 const Product& product, bool transposed, std::string_view argument) {
  const weft_matrix& matrix = *required(given, argument);
  if (!is_float(dtype_of(matrix.dtype, formatted("{}.dtype", argument)))) {
    raise(ErrorCode::unsupported, "`{}` is {}; matrix products take f32, f16 and bf16.", argument,
          weft_dtype_name(matrix.dtype));
  }
  if (transposed) std::swap(rows, columns);
  if (matrix.leading_dimension < std::max<std::int64_t>(columns, 1)) {
    raise(ErrorCode::invalid_argument,
          "The leading dimension of `{}` is {}, less than the {} columns of its {} stored rows.",
          argument, matrix.leading_dimension, columns, rows);
  }
  const bool one = product.batches == 1;
  const std::array extents{product.batches, rows, columns};
  const ops::View view =
      arrays.view(matrix.buffer, matrix.dtype, matrix.offset, shape_of(3, extents.data(), argument),
                  {one ? 0 : matrix.batch_stride, matrix.leading_dimension, 1}, argument);
  return transposed ? view.transpose(1, 2) : view;
}

void gemm(bool transpose_a, bool transpose_b, const Product& product, float alpha,
          const weft_matrix* a, const weft_matrix* b, float beta, const weft_matrix* c) {
  const auto& [m, n, k, batches] = product;
  for (const auto& [value, label] : {std::pair{m, "m"}, {n, "n"}, {k, "k"}, {batches, "batches"}}) {
    if (value < 0)
      raise(ErrorCode::invalid_argument, "`{}` is {}, but not negative.", label, value);
  }
  Arrays arrays;
  ops::gemm::Args args;
  args.a = matrix(arrays, a, m, k, product, transpose_a, "a");
  args.b = matrix(arrays, b, k, n, product, transpose_b, "b");
  args.c = matrix(arrays, c, m, n, product, false, "c");
  check_apart(args.c, "c");
  args.alpha = alpha;
  args.beta = beta;
  arrays.run(ops::gemm::plan(args, arrays.caps()));
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                      float alpha, const weft_matrix* a, const weft_matrix* b, float beta,
                      const weft_matrix* c) {
  return call(__func__,
              [&] { gemm(transpose_a, transpose_b, {m, n, k, 1}, alpha, a, b, beta, c); });
}

weft_status weft_gemm_batched(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                              float alpha, const weft_matrix* a, const weft_matrix* b, float beta,
                              const weft_matrix* c, int64_t batches) {
  return call(__func__,
              [&] { gemm(transpose_a, transpose_b, {m, n, k, batches}, alpha, a, b, beta, c); });
}
