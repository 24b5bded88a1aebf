#include <algorithm>
#include <cmath>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/products.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/math.hpp"
#include "weft/ops.hpp"
#include "weft/quantize.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

/// A product as numpy has it, by one of matrices.
template <class Product>
Tensor numpy_product(Tensor a, Tensor b, Product product) {
  const bool row = a.shape().size() == 1;
  const bool column = b.shape().size() == 1;
  if (row) a = unsqueeze(a, 0);
  if (column) b = unsqueeze(b, 1);
  Tensor y = product(a, b);
  if (column) y = squeeze(y, {-1});
  if (row) y = squeeze(y, {column ? -1 : -2});
  return y;
}

Values mat_mul(Call& c) {
  const Tensor a = c.t(0);
  const Tensor b = c.t(1);
  if (a.shape().empty() || b.shape().empty())
    c.wrong(
        formatted("{} and {} have no product of matrices.", describe(c.in(0)), describe(c.in(1))));
  if (is_float(a.dtype()))
    return {as(numpy_product(a, b, [](const Tensor& x, const Tensor& y) { return matmul(x, y); }),
               a.dtype())};
  return {as(numpy_product(a, b, sums_of_products), a.dtype())};
}

Values gemm(Call& c) {
  Tensor a = c.t(0);
  Tensor b = c.t(1);
  if (a.shape().size() != 2 || b.shape().size() != 2)
    c.wrong(formatted("{} and {} are not matrices.", describe(c.in(0)), describe(c.in(1))));
  if (c.i("transA", 0) != 0) a = a.transpose();
  if (c.i("transB", 0) != 0) b = b.transpose();
  const double alpha = c.f("alpha", 1);
  const double beta = c.f("beta", 1);
  Tensor y = is_float(a.dtype()) ? matmul(a, b) : sums_of_products(a, b);
  if (alpha != 1) y = as(y * alpha, y.dtype());
  if (c.has(2) && beta != 0) {
    Tensor bias = c.t(2);
    if (beta != 1) bias = bias * beta;
    y = y + as(bias, y.dtype());
  }
  return {as(y, a.dtype())};
}

Values einsum_op(Call& c) {
  std::string letters = c.s("equation", "");
  std::erase(letters, ' ');
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) tensors.push_back(c.t(i));
  return {as(einsum(letters, tensors), tensors.at(0).dtype())};
}

/// The determinant by elimination, on the host in double.
Values det(Call& c) {
  const Array& x = c.host(0);
  const std::size_t rank = x.shape.size();
  if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2])
    c.wrong(formatted("{} has no square matrices.", describe(c.in(0))));
  const auto n = static_cast<std::size_t>(x.shape.back());
  auto values = x.doubles();
  std::vector<double> out;
  for (std::size_t m = 0; m + n * n <= values.size() && n > 0; m += n * n) {
    double* a = values.data() + m;
    double product = 1;
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      for (std::size_t row = k + 1; row < n; ++row) {
        if (std::fabs(a[row * n + k]) > std::fabs(a[pivot * n + k])) pivot = row;
      }
      if (pivot != k) {
        std::swap_ranges(a + k * n, a + k * n + n, a + pivot * n);
        product = -product;
      }
      product *= a[k * n + k];
      if (a[k * n + k] == 0) break;
      for (std::size_t row = k + 1; row < n; ++row) {
        const double factor = a[row * n + k] / a[k * n + k];
        for (std::size_t j = k; j < n; ++j) a[row * n + j] -= factor * a[k * n + j];
      }
    }
    out.push_back(product);
  }
  const Shape shape(x.shape.begin(), x.shape.end() - 2);
  if (n == 0) out.assign(count_of(shape), 1);
  return {array_of(x.type, shape, out)};
}

}  // namespace

Tensor sums_of_products(const Tensor& a, const Tensor& b) {
  const bool narrow = size_of(a.dtype()) == 1 && size_of(b.dtype()) == 1;
  const std::uint64_t depth = last_of(a.shape());
  if (!narrow) {  // element by element: every bit of a sum stays
    return sum(unsqueeze(a, -1) * unsqueeze(b, -3),
               {static_cast<int>(std::max(a.shape().size(), b.shape().size())) - 1});
  }
  // Products of 8 bits are below 2^16, sums of 128 of them below 2^24: exact in f32.
  constexpr std::uint64_t piece = 128;
  Tensor total;
  const Tensor x = a.to(DType::f32);
  const Tensor y = b.to(DType::f32);
  for (std::uint64_t at = 0; at < std::max<std::uint64_t>(depth, 1); at += piece) {
    const std::uint64_t count = std::min(piece, depth - at);
    const Tensor part =
        matmul(x.slice(-1, static_cast<I>(at), count), y.slice(-2, static_cast<I>(at), count))
            .to(DType::i32);
    total = total ? total + part : part;
  }
  return total;
}

Tensor whole_product(const Tensor& a, const Tensor& a_zero, const Tensor& b, const Tensor& b_zero) {
  const auto narrow = [](const Tensor& t) {
    return t.dtype() == DType::i8 || t.dtype() == DType::u8;
  };
  // One for all, or one for each row or column; not one for each of a batch.
  const auto flat = [](const Tensor& t) { return !t || t.size() == 1 || t.shape().size() == 1; };
  const auto zero = [](const Tensor& t) {
    if (!t) return t;
    return (t.size() == 1 ? t.reshape({}) : t).to(DType::i32);
  };
  return numpy_product(a, b, [&](const Tensor& x, const Tensor& y) {
    if (narrow(x) && narrow(y) && flat(a_zero) && flat(b_zero))
      return matmul_integer(x, y, zero(a_zero), zero(b_zero));
    const std::uint64_t depth = last_of(x.shape());
    Tensor total = sums_of_products(x, y);
    // Σ (x - p)(y - q) = Σ xy - p Σ y - q Σ x + n p q, so that products stay narrow.
    const auto wide = [](const Tensor& t) { return t.to(DType::i32); };
    Tensor p;
    Tensor q;
    if (a_zero)
      p = wide(a_zero.shape().size() == 1 && a_zero.size() > 1 ? unsqueeze(a_zero, 1)
               : a_zero.size() == 1                            ? a_zero.reshape({})
                                                               : a_zero);
    if (b_zero) q = wide(b_zero.size() == 1 ? b_zero.reshape({}) : b_zero);
    if (p) total = total - p * sum(wide(y), {-2}, true);
    if (q) total = total - q * sum(wide(x), {-1}, true);
    if (p && q) total = total + p * q * static_cast<double>(depth);
    return total;
  });
}

void add_matmul(Table& table) {
  table["MatMul"] = mat_mul;
  table["Gemm"] = gemm;
  table["Einsum"] = einsum_op;
  table["Det"] = det;
  table["MatMulInteger"] =
      +[](Call& c) { return Values{whole_product(c.t(0), c.maybe(2), c.t(1), c.maybe(3))}; };
}

}  // namespace weft::onnx
