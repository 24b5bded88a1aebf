// Linear algebra of small matrices, and sparse ones: what the functions mean at their edges.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

Tensor matrix(std::uint64_t rows, std::uint64_t columns, const Floats& values) {
  return api_device().tensor({rows, columns}, values);
}
void near(const Tensor& got, const Floats& wanted, double tolerance = 1e-5) {
  const Floats values = got.to_vector();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], tolerance) << i;
}

TEST(DeviceLinalg, SmallMatrices) {
  const Tensor a = matrix(2, 2, {0, 2, 3, 4});  // needs another pivot
  near(inverse(a), {-4.0F / 6, 2.0F / 6, 0.5F, 0});
  near(solve(a, matrix(2, 1, {2, 7})), {1, 1});
  EXPECT_NEAR(det(a).item(), -6, 1e-6);
  EXPECT_EQ(det(matrix(2, 2, {1, 2, 2, 4})).item(), 0.0F);
  EXPECT_EQ(det(api_device().full({0, 0}, 0)).item(), 1.0F);
  near(cholesky(matrix(2, 2, {4, 99, 2, 10})), {2, 0, 1, 3});
  EXPECT_TRUE(std::isnan(cholesky(matrix(1, 1, {-1})).item()));
  // Batches broadcast.
  const Tensor many = api_device().arange(12).reshape({3, 2, 2});
  const Tensor x = solve(a, many);
  EXPECT_EQ(x.shape(), (Shape{3, 2, 2}));
  near(matmul(a, x), many.to_vector());
  EXPECT_EQ(solve(a, many.slice(0, 0, 0)).shape(), (Shape{0, 2, 2}));
  const auto message = [](const auto& call) -> std::string {
    try {
      (void)call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message([&] { return det(many.reshape({3, 4})); }).find("det needs square"),
            std::string::npos);
  EXPECT_NE(message([&] { return solve(a, matrix(1, 2, {1, 2})); }).find("solve with f32[2,2]"),
            std::string::npos);
  EXPECT_NE(message([&] { return inverse(a.to(DType::i32)); }).find("inverse needs"),
            std::string::npos);
}

TEST(DeviceLinalg, DeterminantsWhoseSizeNoFloatHolds) {
  const Tensor tiny = matrix(3, 3, {0, 1e-30F, 0, 2e-30F, 0, 0, 0, 0, 3e-30F});
  const Slogdet parts = slogdet(tiny);
  EXPECT_EQ(parts.sign.item(), -1.0F);
  EXPECT_NEAR(parts.logabsdet.item(), std::log(6.0) - 90 * std::log(10.0), 1e-4);
  const Slogdet singular = slogdet(matrix(2, 2, {1, 2, 2, 4}));
  EXPECT_EQ(singular.sign.item(), 0.0F);
  EXPECT_EQ(singular.logabsdet.item(), -std::numeric_limits<float>::infinity());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(slogdet(matrix(2, 2, {1, nan, 2, 4})).logabsdet.item()));
  const Slogdet none = slogdet(api_device().full({2, 0, 0}, 0));
  EXPECT_EQ(none.sign.to_vector(), (Floats{1, 1}));
  EXPECT_EQ(none.logabsdet.to_vector(), (Floats{0, 0}));
}

TEST(DeviceLinalg, SixteenBitsAreComputedInThirtyTwo) {
  const Tensor a = matrix(2, 2, {4, 2, 2, 10});
  for (const DType type : {DType::f16, DType::bf16}) {
    const Tensor half = a.to(type);
    EXPECT_EQ(det(half).dtype(), type);
    EXPECT_EQ(det(half).to_vector(), (Floats{36}));
    EXPECT_EQ(cholesky(half).to_vector(), (Floats{2, 0, 1, 3}));
    near(inverse(half), inverse(a).to_vector(), 2e-3);
    EXPECT_EQ(solve(half, half).to_vector(), (Floats{1, 0, 0, 1}));
    EXPECT_EQ(slogdet(half).logabsdet.dtype(), type);
  }
}

TEST(DeviceCsr, FromDenseAndBack) {
  const Floats values{0, 2, 0, 0, 0, 0, 3, 0, -1, 0, 0, 4};
  const Tensor dense = matrix(4, 3, values);
  const Csr a = csr_from_dense(dense);
  EXPECT_EQ(a.values.to_vector(), (Floats{2, 3, -1, 4}));
  EXPECT_EQ(a.starts.to_vector<std::int32_t>(), (Ints{0, 1, 1, 3, 4}));
  EXPECT_EQ(a.indices.to_vector<std::int32_t>(), (Ints{1, 0, 2, 2}));
  EXPECT_EQ(csr_to_dense(a.values, a.starts, a.indices, 3).to_vector(), values);
  const Csr t = csr_transpose(a.values, a.starts, a.indices, 3);
  EXPECT_EQ(csr_to_dense(t.values, t.starts, t.indices, 4).to_vector(),
            dense.transpose().to_vector());
  const Tensor rows = api_device().tensor({4}, Ints{3, 2, 0, 2});
  const Tensor columns = api_device().tensor({4}, Ints{2, 2, 1, 0});
  const Csr b = csr_from_coo(api_device().tensor({4}, Floats{4, -1, 2, 3}), rows, columns, 4);
  EXPECT_EQ(csr_to_dense(b.values, b.starts, b.indices, 3).to_vector(), values);
  const Csr none = csr_from_dense(matrix(2, 2, {0, 0, 0, 0}));
  EXPECT_EQ(none.values.size(), 0U);
  EXPECT_EQ(csr_to_dense(none.values, none.starts, none.indices, 2).to_vector(), Floats(4, 0.0F));
  EXPECT_EQ(csr_matmul(none.values, none.starts, none.indices, matrix(2, 1, {1, 2})).to_vector(),
            (Floats{0, 0}));
}

TEST(DeviceCsr, ProductsAreThoseOfTheDenseMatrix) {
  Floats values(37 * 29);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i * 7 % 11 < 3 ? static_cast<float>(std::sin(static_cast<double>(i))) : 0;
  }
  const Tensor dense = matrix(37, 29, values);
  const Csr a = csr_from_dense(dense);
  const Tensor x = sin(api_device().arange(29 * 5)).reshape({29, 5});
  near(csr_matmul(a.values, a.starts, a.indices, x), matmul(dense, x).to_vector());
  const Tensor v = x.slice(1, 2, 1).reshape({29});
  near(csr_matmul(a.values, a.starts, a.indices, v), matmul(dense, x).slice(1, 2, 1).to_vector());
  const Tensor half = csr_matmul(a.values.to(DType::f16), a.starts, a.indices, x.to(DType::f16));
  EXPECT_EQ(half.dtype(), DType::f16);
  near(half, matmul(dense, x).to_vector(), 1e-2);
  const Tensor left = cos(api_device().arange(37 * 5)).reshape({37, 5});
  const Tensor picked = csr_sampled_matmul(a.starts, a.indices, left, x);
  const Tensor places = csr_rows(a.starts, a.values.size()) * 29.0 + a.indices;
  near(picked, take(matmul(left, x.transpose()), places).to_vector());
  const Tensor shares = csr_softmax(a.values, a.starts);
  const Tensor sums = sum(csr_to_dense(shares, a.starts, a.indices, 29), {1});
  near(sums, Floats(37, 1.0F));
  EXPECT_THROW((void)csr_matmul(a.values, a.starts, a.starts, x), Error);
}

}  // namespace
}  // namespace weft::test
