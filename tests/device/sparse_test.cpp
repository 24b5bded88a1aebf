// Sparse matrices of blocks, and places that come more than once.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

/// A matrix in which a block of each three is filled; whole numbers, so that sums are exact.
Floats blocks_of(std::size_t rows, std::size_t columns, std::size_t block) {
  Floats out(rows * columns);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t which = i / columns / block * (columns / block) + i % columns / block;
    if (which % 3 == 1) out[i] = static_cast<float>(static_cast<int>(i * 7 % 11) * 2 - 11);
  }
  return out;
}

Tensor matrix(std::size_t rows, std::size_t columns, const Floats& values) {
  return api_device().tensor({rows, columns}, values);
}

TEST(DeviceSparse, BlocksGoThereAndBack) {
  for (const std::size_t block : {1U, 2U, 16U, 32U}) {
    SCOPED_TRACE(block);
    const std::size_t rows = 3 * block, columns = 4 * block;
    const Floats values = blocks_of(rows, columns, block);
    const Tensor dense = matrix(rows, columns, values);
    const Bsr a = bsr_from_dense(dense, block);
    EXPECT_EQ(a.starts.to_vector<std::int32_t>(), (Ints{0, 1, 3, 4}));
    EXPECT_EQ(a.indices.to_vector<std::int32_t>(), (Ints{1, 0, 3, 2}));
    EXPECT_EQ(bsr_to_dense(a.values, a.starts, a.indices, columns).to_vector(), values);
    const Csr plain = bsr_to_csr(a.values, a.starts, a.indices);
    EXPECT_EQ(csr_to_dense(plain.values, plain.starts, plain.indices, columns).to_vector(), values);
    const Bsr again = bsr_from_csr(plain.values, plain.starts, plain.indices, block);
    EXPECT_EQ(again.starts.to_vector<std::int32_t>(), a.starts.to_vector<std::int32_t>());
    EXPECT_EQ(again.indices.to_vector<std::int32_t>(), a.indices.to_vector<std::int32_t>());
    EXPECT_EQ(again.values.to_vector(), a.values.to_vector());
    const Bsr turned = bsr_transpose(a.values, a.starts, a.indices, columns);
    EXPECT_EQ(bsr_to_dense(turned.values, turned.starts, turned.indices, rows).to_vector(),
              (dense.transpose() + 0).to_vector());
  }
}

TEST(DeviceSparse, BlocksOfSixteenAndThirtyTwoMultiply) {
  for (const std::size_t block : {16U, 32U}) {
    const std::size_t rows = 3 * block, columns = 5 * block, n = 21;
    const Floats values = blocks_of(rows, columns, block);
    const Bsr a = bsr_from_dense(matrix(rows, columns, values), block);
    Floats right(columns * n);
    for (std::size_t i = 0; i < right.size(); ++i)
      right[i] = static_cast<float>(static_cast<int>(i * 5 % 17) - 8);
    Floats wanted(rows * n);  // whole numbers: every order of sums gives the same
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < columns; ++k) {
        for (std::size_t j = 0; j < n; ++j)
          wanted[i * n + j] += values[i * columns + k] * right[k * n + j];
      }
    }
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      SCOPED_TRACE(std::to_string(block) + " " + std::string(name(type)));
      const Tensor got =
          bsr_matmul(a.values.to(type), a.starts, a.indices, matrix(columns, n, right).to(type));
      EXPECT_EQ(got.dtype(), type);
      EXPECT_EQ(got.to_vector(), matrix(rows, n, wanted).to(type).to_vector());
    }
  }
}

TEST(DeviceSparse, EveryRunHasTheSameBits) {
  // Values whose sums depend on the order; places that come more than once; a long row.
  const std::size_t rows = 50, columns = 70, count = 4000;
  const auto noise = [](std::size_t n, std::uint32_t seed) {
    Floats out(n);
    for (float& v : out) {
      seed = seed * 1664525U + 1013904223U;
      v = std::ldexp(static_cast<float>(seed >> 8U) / 8388608.0F - 1,
                     static_cast<int>(seed % 24) - 12);
    }
    return out;
  };
  Ints at_row(count), at_column(count);
  for (std::size_t i = 0; i < count; ++i) {
    at_row[i] = i % 4 == 0 ? 7 : static_cast<std::int32_t>(i * 31 % rows);
    at_column[i] = static_cast<std::int32_t>(i * 17 % columns);
  }
  const auto run = [&] {
    const Tensor values = variable(api_device().tensor({count}, noise(count, 3)));
    const Tensor x = variable(matrix(columns, 6, noise(columns * 6, 5)));
    const Csr a = csr_from_coo(values, api_device().tensor({count}, at_row),
                               api_device().tensor({count}, at_column), rows);
    const Tensor y = csr_matmul(a.values, a.starts, a.indices, x);
    std::vector<Tensor> results = grad(y, y, {values, x});
    results.insert(results.end(),
                   {y, csr_to_dense(a.values, a.starts, a.indices, columns),
                    csr_coalesce(a.values, a.starts, a.indices).values,
                    csr_row_sums(a.values, a.starts), csr_softmax(a.values, a.starts)});
    const Bsr blocks = bsr_from_dense(matrix(64, 96, noise(64 * 96, 9)), 32);
    results.push_back(
        bsr_matmul(blocks.values, blocks.starts, blocks.indices, matrix(96, 5, noise(96 * 5, 11))));
    std::vector<std::vector<std::uint32_t>> bits;
    for (const Tensor& result : results) {
      std::vector<std::uint32_t>& words = bits.emplace_back();
      for (const float v : result.to_vector()) words.push_back(std::bit_cast<std::uint32_t>(v));
    }
    return bits;
  };
  const auto first = run();
  for (int again = 0; again < 3; ++again) EXPECT_EQ(run(), first);
}

TEST(DeviceSparse, BlocksMultiply) {
  const std::size_t block = 4, rows = 12, columns = 16, n = 5;
  const Tensor dense = matrix(rows, columns, blocks_of(rows, columns, block));
  const Bsr a = bsr_from_dense(dense, block);
  const Tensor x = api_device().arange(columns * n).reshape({columns, n}) - 40;
  EXPECT_EQ(bsr_matmul(a.values, a.starts, a.indices, x).to_vector(), matmul(dense, x).to_vector());
  const Tensor v = x.slice(1, 3, 1).reshape({columns});
  EXPECT_EQ(bsr_matmul(a.values, a.starts, a.indices, v).to_vector(),
            matmul(dense, v.reshape({columns, 1})).to_vector());
  const Tensor half = bsr_matmul(a.values, a.starts, a.indices, x.to(DType::f16));
  EXPECT_EQ(half.dtype(), DType::f16);
  const Tensor left = api_device().arange(rows * n).reshape({rows, n}) - 7;
  const Tensor picked = bsr_sampled_matmul(a.starts, a.indices, left, x, block);
  const Tensor filled = not_equal(dense, api_device().full({}, 0)).to(DType::f32);
  const Tensor kept = bsr_to_dense(picked, a.starts, a.indices, columns) * filled;
  EXPECT_EQ(kept.to_vector(), (matmul(left, x.transpose()) * filled).to_vector());
}

TEST(DeviceSparse, NothingIsAMatrixToo) {
  const Bsr none = bsr_from_dense(api_device().full({4, 6}, 0), 2);
  EXPECT_EQ(none.values.shape(), (Shape{0, 2, 2}));
  EXPECT_EQ(bsr_to_dense(none.values, none.starts, none.indices, 6).to_vector(), Floats(24, 0.0F));
  EXPECT_EQ(
      bsr_matmul(none.values, none.starts, none.indices, api_device().full({6}, 1)).to_vector(),
      Floats(4, 0.0F));
  EXPECT_EQ(bsr_transpose(none.values, none.starts, none.indices, 6).starts.shape(), (Shape{4}));
  EXPECT_EQ(bsr_from_csr(api_device().full({0}, 0), api_device().full({5}, 0, DType::i32),
                         api_device().full({0}, 0, DType::i32), 2)
                .starts.shape(),
            (Shape{3}));
  try {
    (void)bsr_from_dense(api_device().full({4, 6}, 0), 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("multiple of the size of a block; they are 6 and 4"),
              std::string::npos)
        << error.what();
  }
}

TEST(DeviceSparse, PlacesThatComeTwiceAreAddedUp) {
  const Tensor rows = api_device().tensor({6}, Ints{2, 0, 2, 0, 2, 1});
  const Tensor columns = api_device().tensor({6}, Ints{1, 3, 1, 3, 0, 3});
  const Tensor values = api_device().tensor({6}, Floats{1, 2, 4, 8, 16, 32});
  const Csr twice = csr_from_coo(values, rows, columns, 3);
  const Csr once = csr_coalesce(twice.values, twice.starts, twice.indices);
  EXPECT_EQ(once.values.to_vector(), (Floats{10, 32, 16, 5}));
  EXPECT_EQ(once.starts.to_vector<std::int32_t>(), (Ints{0, 1, 2, 4}));
  EXPECT_EQ(once.indices.to_vector<std::int32_t>(), (Ints{3, 3, 0, 1}));
  const Csr same = csr_coalesce(once.values, once.starts, once.indices);
  EXPECT_EQ(same.values.to_vector(), once.values.to_vector());
}

TEST(DeviceSparse, GradientsReachBlocksAndTheDenseSide) {
  const std::size_t block = 2;
  const Bsr a = bsr_from_dense(matrix(4, 6, blocks_of(4, 6, block)), block);
  const Tensor values = variable(a.values);
  const Tensor x = variable(api_device().arange(12).reshape({6, 2}));
  const std::vector<Tensor> found =
      grad(sum(bsr_matmul(values, a.starts, a.indices, x)), {values, x});
  const Tensor dense = variable(bsr_to_dense(a.values, a.starts, a.indices, 6));
  const std::vector<Tensor> wanted = grad(sum(matmul(dense, x)), {dense, x});
  EXPECT_EQ(found[1].to_vector(), wanted[1].to_vector());
  // By the blocks: what the whole matrix gets at their places.
  const Bsr places = bsr_from_dense(
      bsr_to_dense(a.values * 0 + 1, a.starts, a.indices, 6) * (wanted[0] + 1000), block);
  EXPECT_EQ((found[0] + 1000).to_vector(), places.values.to_vector());
}

TEST(DeviceSparse, RowsAreAddedUpAndDenseMatricesAdded) {
  // Rows of 2, 0 and 3 elements; one place comes twice.
  const Tensor values = variable(api_device().tensor({5}, Floats{1, 2, 3, 4, 5}));
  const Tensor starts = api_device().tensor({4}, Ints{0, 2, 2, 5});
  const Tensor indices = api_device().tensor({5}, Ints{0, 3, 1, 1, 2});
  EXPECT_EQ(csr_row_sums(values, starts).to_vector(), (Floats{3, 0, 12}));
  const Tensor dense = variable(api_device().full({3, 4}, 10));
  const Tensor sum = csr_add(values, starts, indices, dense);
  EXPECT_EQ(sum.to_vector(), (Floats{11, 10, 10, 12, 10, 10, 10, 10, 10, 17, 15, 10}));
  const Tensor weights = api_device().arange(12).reshape({3, 4});
  const std::vector<Tensor> d = grad(weft::sum(sum * weights), {values, dense});
  EXPECT_EQ(d[0].to_vector(), (Floats{0, 3, 9, 9, 10}));
  EXPECT_EQ(d[1].to_vector(), weights.to_vector());
  const Tensor of_rows =
      weft::sum(csr_row_sums(values, starts) * api_device().tensor({3}, Floats{1, 2, 3}));
  EXPECT_EQ(grad(of_rows, {values})[0].to_vector(), (Floats{1, 1, 3, 3, 3}));
  EXPECT_EQ(csr_add(values.to(DType::f16), starts, indices, dense.to(DType::bf16)).dtype(),
            DType::bf16);
  const Tensor none = api_device().tensor({0}, Floats{});
  EXPECT_EQ(csr_row_sums(none, api_device().tensor({3}, Ints{0, 0, 0})).to_vector(),
            (Floats{0, 0}));
  EXPECT_THROW((void)csr_add(values, starts, indices, dense.slice(0, 0, 2)), Error);
  EXPECT_THROW((void)csr_row_sums(values, none.to(DType::i32)), Error);
}

TEST(DeviceObserve, RangesOfElements) {
  Floats values(10000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 2001) - 1000) / 1000;
  }
  values[77] = 500;  // one far away
  const Tensor x = api_device().tensor({100, 100}, values);
  const QuantizationRange all = quantization_range(x);
  EXPECT_EQ(all.low.item(), -1);
  EXPECT_EQ(all.high.item(), 500);
  const QuantizationRange most = quantization_range(x, {.method = "percentile"});
  EXPECT_NEAR(most.low.item(), -0.999, 2e-3);
  EXPECT_NEAR(most.high.item(), 0.999, 2e-3);
  EXPECT_THROW((void)quantization_range(x, {.method = "guess"}), Error);
  EXPECT_THROW((void)quantization_range(x, {.method = "entropy", .bins = 3}), Error);
  EXPECT_THROW((void)quantization_range(x.slice(0, 0, 0)), Error);
}

TEST(DeviceObserve, EntropyLeavesOutWhatIsFarAway) {
  // A bell with one element far out: 128 levels are better spent on the bell.
  Floats values;
  for (int i = -400; i <= 400; ++i) {
    const double at = i / 100.0;
    const int count = static_cast<int>(50 * std::exp(-at * at / 2));
    for (int k = 0; k < count; ++k) values.push_back(static_cast<float>(at));
  }
  values.push_back(20);
  const Tensor x = api_device().tensor({values.size()}, values);
  const QuantizationRange range = quantization_range(x, {.method = "entropy"});
  EXPECT_GT(range.high.item(), 1.2F);
  EXPECT_LT(range.high.item(), 10.0F);
  EXPECT_EQ(range.low.item(), -range.high.item());
  EXPECT_EQ(quantization_range(x * 0, {.method = "entropy"}).high.item(), 0);
}

TEST(DeviceObserve, ScalesOfRanges) {
  const Tensor low = api_device().tensor({3}, Floats{-1, 0.5F, -4});
  const Tensor high = api_device().tensor({3}, Floats{0.5F, 2.55F, -1});
  const QuantizationScale even = quantization_scale(low, high);
  const Floats scales = even.scale.to_vector();
  EXPECT_FLOAT_EQ(scales[0], 1.0F / 127);
  EXPECT_FLOAT_EQ(scales[2], 4.0F / 127);
  EXPECT_EQ(even.zero_point.to_vector<std::int32_t>(), (Ints{0, 0, 0}));
  const QuantizationScale shifted = quantization_scale(low, high, false);
  EXPECT_FLOAT_EQ(shifted.scale.to_vector()[1], 0.01F);
  EXPECT_EQ(shifted.zero_point.to_vector<std::int32_t>(), (Ints{170, 0, 255}));
}

}  // namespace
}  // namespace weft::test
