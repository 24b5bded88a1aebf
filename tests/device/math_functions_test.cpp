// Statistics, norms and products that are made of other operations, against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
constexpr float infinity = std::numeric_limits<float>::infinity();

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor drawn(const Shape& shape, std::uint64_t seed, double mean = 0) {
  return random::normal(random::key(api_device(), seed), shape, {.mean = mean});
}

Tensor counted(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return api_device().arange(count).reshape(shape);
}

Tensor floats(const Floats& values) { return api_device().tensor({values.size()}, values); }

void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance = 1e-5) {
  const Floats values = got.to(DType::f32).to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

TEST(DeviceMath, VarianceOfNumbersFarFromZero) {
  const Tensor x = drawn({7, 501}, 1, 1000);
  const Floats values = x.to_vector();
  std::vector<double> expected;
  for (std::size_t row = 0; row < 7; ++row) {
    double mean = 0;
    for (std::size_t i = 0; i < 501; ++i) mean += values[row * 501 + i] / 501.0;
    double squares = 0;
    for (std::size_t i = 0; i < 501; ++i) squares += std::pow(values[row * 501 + i] - mean, 2);
    expected.push_back(squares / 500);
  }
  expect_near(var(x, {-1}, {.correction = 1}), expected, 1e-4);
  for (double& v : expected) v = std::sqrt(v * 500 / 501);
  expect_near(weft::std(x, {1}), expected, 1e-4);
  EXPECT_EQ(var(x, {0}, {.keep_dims = true}).shape(), (Shape{1, 501}));
  EXPECT_EQ(var(floats({1, 3})).item(), 1.0F);
  EXPECT_EQ(var(api_device().tensor({2}, std::vector<std::int32_t>{1, 4})).item(), 2.25F);
  EXPECT_EQ(var(x.to(DType::f16)).dtype(), DType::f16);
  EXPECT_TRUE(std::isnan(var(floats({3}), {}, {.correction = 1}).item()));
  EXPECT_EQ(var(drawn({0, 3}, 1), {1}).size(), 0);
  EXPECT_TRUE(
      message_of([&] { (void)var(x, {2}); })
          .starts_with("var with the shape [7,501] takes an axis from -2 to 1; 2 was given. "
                       "(var at "));
}

TEST(DeviceMath, LogsumexpHasNoOverflow) {
  expect_near(logsumexp(floats({1000, 1000})), {1000 + std::log(2.0)}, 1e-6);
  expect_near(logsumexp(floats({-1000, -1001})), {-1000 + std::log1p(std::exp(-1.0))}, 1e-6);
  EXPECT_EQ(logsumexp(floats({-infinity, 3})).item(), 3.0F);
  EXPECT_EQ(logsumexp(floats({-infinity, -infinity})).item(), -infinity);
  EXPECT_EQ(logsumexp(floats({infinity, 3})).item(), infinity);
  EXPECT_EQ(logsumexp(drawn({2, 3, 4}, 2), {0, -1}).shape(), Shape{3});
  EXPECT_EQ(logsumexp(drawn({2, 3, 4}, 2), {1}, true).shape(), (Shape{2, 1, 4}));
}

TEST(DeviceMath, NormsOfEveryPower) {
  const Tensor x = floats({3, -4, 0});
  EXPECT_EQ(norm(x).item(), 5.0F);
  EXPECT_EQ(norm(x, 1).item(), 7.0F);
  EXPECT_EQ(norm(x, 0).item(), 2.0F);
  EXPECT_EQ(norm(x, infinity).item(), 4.0F);
  EXPECT_EQ(norm(x, -infinity).item(), 0.0F);
  expect_near(norm(x, 3), {std::cbrt(27.0 + 64)});
  expect_near(norm(x, 0.5), {std::pow(std::sqrt(3.0) + 2, 2)});
  expect_near(norm(floats({3e30F, 4e30F})) * 1e-30, {5});
  expect_near(norm(floats({3e-30F, 4e-30F}), 3) * 1e30, {std::cbrt(91.0)});
  EXPECT_EQ(norm(floats({0, 0}), 3).item(), 0.0F);
  EXPECT_EQ(norm(drawn({2, 3, 4}, 3), 2, {0, 2}, true).shape(), (Shape{1, 3, 1}));
  const Tensor zero = variable(floats({0, 0}));
  EXPECT_EQ(grad(norm(zero), {zero})[0].to_vector(), (Floats{0, 0}));
}

TEST(DeviceMath, CountsCovariancesAndLimits) {
  EXPECT_EQ(count_nonzero(floats({0, 2, -0.0F, 1e-30F})).item<std::int32_t>(), 2);
  EXPECT_EQ(count_nonzero(counted({2, 3}), {0}).to_vector<std::int32_t>(), (std::vector{1, 2, 2}));
  expect_near(cov(api_device().tensor({2, 3}, Floats{0, 1, 2, 2, 1, 0})), {1, -1, -1, 1});
  EXPECT_EQ(cov(floats({0, 2})).item(), 2.0F);
  EXPECT_EQ(clip(floats({-3, 0.5, 9}), {}, 1).to_vector(), (Floats{-3, 0.5, 1}));
  EXPECT_EQ(clip(floats({-3, 0.5, 9}), -1, 1).to_vector(), (Floats{-1, 0.5, 1}));
  EXPECT_EQ(clip(api_device().tensor({2}, std::vector<std::int32_t>{-5, 5}), 0, {})
                .to_vector<std::int32_t>(),
            (std::vector{0, 5}));
  // As numpy, PyTorch and MLX have it.
  EXPECT_EQ(clip(floats({-3, 1.5, 9}), 2, 1).to_vector(), (Floats{1, 1, 1}));
  const Tensor none = clip(floats({-3, infinity}), NAN, 1);
  EXPECT_TRUE(std::isnan(none.to_vector()[0]) && std::isnan(none.to_vector()[1]));
}

TEST(DeviceMath, Closeness) {
  const Tensor a = floats({1, 1, infinity, infinity, 1, 0});
  const Tensor b = floats({1.000001F, 1.1F, infinity, -infinity, infinity, 1e-9F});
  EXPECT_EQ(isclose(a, b).to(DType::f32).to_vector(), (Floats{1, 0, 1, 0, 0, 1}));
  EXPECT_FALSE(allclose(a, b));
  EXPECT_TRUE(allclose(a, a));
  EXPECT_TRUE(allclose(floats({1, 2}), floats({1.05F, 2.05F}), 0.1));
  EXPECT_TRUE(allclose(drawn({0}, 1), drawn({0}, 1)));
  const Tensor gaps = floats({NAN, NAN, 1, infinity});
  const Tensor other = floats({NAN, 1, NAN, infinity});
  EXPECT_EQ(isclose(gaps, other).to(DType::f32).to_vector(), (Floats{0, 0, 0, 1}));
  EXPECT_EQ(isclose(gaps, other, 1e-5, 1e-8, true).to(DType::f32).to_vector(),
            (Floats{1, 0, 0, 1}));
  EXPECT_FALSE(allclose(gaps, gaps));
  // Integers are compared as they are, not as floats.
  const auto big = [](std::int64_t first, std::int64_t second) {
    return api_device().tensor({2}, std::vector{first, second});
  };
  const Tensor near = isclose(big(16777217, INT64_MAX), big(16777216, INT64_MIN), 0, 0);
  EXPECT_EQ(near.to(DType::f32).to_vector(), (Floats{0, 0}));
  EXPECT_EQ(
      isclose(big(16777217, INT64_MIN), big(16777216, INT64_MIN), 0, 1).to(DType::f32).to_vector(),
      (Floats{1, 1}));
  EXPECT_EQ(isclose(big(0, INT64_MAX), big(0, INT64_MIN), 0, 1e19).to(DType::f32).to_vector(),
            (Floats{1, 0}));
  EXPECT_TRUE(allclose(gaps, gaps, 1e-5, 1e-8, true));
}

TEST(DeviceMath, DistancesBetweenRows) {
  const Tensor a = drawn({2, 5, 3}, 4);
  const Tensor b = drawn({2, 4, 3}, 5);
  const Floats x = a.to_vector();
  const Floats y = b.to_vector();
  std::vector<double> expected;
  std::vector<double> sums;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t k = 0; k < 4; ++k) {
        double squares = 0;
        double sizes = 0;
        for (std::size_t d = 0; d < 3; ++d) {
          const double apart = double{x[(n * 5 + i) * 3 + d]} - y[(n * 4 + k) * 3 + d];
          squares += apart * apart;
          sizes += std::abs(apart);
        }
        expected.push_back(std::sqrt(squares));
        sums.push_back(sizes);
      }
    }
  }
  expect_near(cdist(a, b), expected);
  expect_near(cdist(a, b, {.by_product = true}), expected, 1e-4);
  expect_near(cdist(a, b, {.p = 1}), sums);
  EXPECT_TRUE(message_of([&] { (void)cdist(a, drawn({4, 2}, 1)); })
                  .starts_with("cdist needs rows […, M, K] and […, N, K] of one float type; it was "
                               "given f32[2,5,3] and f32[4,2]. (cdist at "));
}

TEST(DeviceMath, DistancesTakeNoMemoryButTheirOwn) {
  const std::uint64_t m = 300, n = 200, k = 64;
  const Tensor a = variable(drawn({m, k}, 3) + 4096);  // far from the origin
  const Tensor b = variable(drawn({n, k}, 4) + 4096);
  const Tensor weights = drawn({m, n}, 5);
  const Compiled f = compile([&](const std::vector<Tensor>& in) {
    return Outputs(grad(cdist(in[0], in[1]), weights, in));
  });
  (void)f({a, b});
  EXPECT_LT(f.report().arena_bytes, m * n * k * 4 / 8);
  const std::vector<Tensor> found = grad(cdist(a, b), weights, {a, b});
  // By what forms all differences.
  const Tensor apart = a.reshape({m, 1, k}) - b.reshape({1, n, k});
  const std::vector<Tensor> wanted = grad(sqrt(sum(apart * apart, {2})), weights, {a, b});
  for (int i = 0; i < 2; ++i) {
    const std::vector<float> w = wanted[static_cast<std::size_t>(i)].to_vector();
    expect_near(found[static_cast<std::size_t>(i)], {w.begin(), w.end()}, 2e-4);
  }
}

TEST(DeviceMath, EinsumEqualsItsSums) {
  const Tensor a = drawn({3, 4}, 6);
  const Tensor b = drawn({4, 5}, 7);
  const auto same = [](const Tensor& x, const Tensor& y) {
    ASSERT_EQ(x.shape(), y.shape());
    EXPECT_TRUE(allclose(x, y, 1e-4, 1e-5));
  };
  same(einsum("ij,jk->ik", {a, b}), matmul(a, b));
  same(einsum("ij,jk", {a, b}), matmul(a, b));
  same(einsum(" i j , j k -> k i ", {a, b}), matmul(a, b).transpose());
  same(einsum("ij->ji", {a}), a.transpose());
  same(einsum("ij->", {a}), sum(a));
  same(einsum("ij->j", {a}), sum(a, {0}));
  same(einsum("ii->i", {b.slice(1, 0, 4)}), diagonal(b.slice(1, 0, 4)));
  same(einsum("ii", {b.slice(1, 0, 4)}), trace(b.slice(1, 0, 4)));
  same(einsum("ij,ij->i", {a, a}), sum(a * a, {1}));
  same(einsum("ij,kl->ijkl", {a, a}).reshape({12, 12}), outer(a, a));
  same(einsum("...j,jk->...k", {drawn({2, 3, 4}, 8), b}), matmul(drawn({2, 3, 4}, 8), b));
  same(einsum("ba", {a}), a.transpose());
  const Tensor v = drawn({5}, 9);
  same(einsum("ij,jk,k->i", {a, b, v}), matmul(a, matmul(b, v.reshape({5, 1}))).reshape({3}));
  std::vector<Tensor> many(10, drawn({3, 3}, 10) * 0.5);
  Tensor product = many[0];
  for (int i = 1; i < 10; ++i) product = matmul(product, many[0]);
  same(einsum("ab,bc,cd,de,ef,fg,gh,hi,ij,jk->ak", many), product);
  const Tensor whole = api_device().tensor({2, 2}, std::vector<std::int32_t>{1, 2, 3, 4});
  EXPECT_EQ(einsum("ij,jk->ik", {whole, whole}).to_vector<std::int32_t>(),
            (std::vector{7, 10, 15, 22}));
  same(einsum("ij,jk->ik", {zeros(api_device(), {2, 0}), zeros(api_device(), {0, 3})}),
       zeros(api_device(), {2, 3}));
}

TEST(DeviceMath, EinsumTakesTheCheapOrder) {
  // From the left this needs a matrix of 600 x 600, from the right vectors only.
  const Tensor column = drawn({600, 1}, 11);
  const Compiled chain = compile([](const std::vector<Tensor>& in) {
    return Outputs{einsum("ia,aj,jb->ib", {in[0], in[1], in[2]})};
  });
  (void)chain.one({column, drawn({1, 600}, 12), drawn({600, 1}, 13)});
  EXPECT_LT(chain.report().arena_bytes, 600U * 600U * 4U / 8);
}

TEST(DeviceMath, EinsumSaysWhatIsWrong) {
  const Tensor a = drawn({3, 4}, 6);
  const auto message = [&](std::string_view letters, const std::vector<Tensor>& tensors) {
    return message_of([&] { (void)einsum(letters, tensors); });
  };
  EXPECT_TRUE(
      message("ij,jk", {a})
          .starts_with(
              "einsum \"ij,jk\" has 2 terms between commas; 1 tensors were given. (einsum at "));
  EXPECT_TRUE(message("ijk->i", {a})
                  .starts_with("einsum \"ijk->i\" has 3 letters in the term \"ijk\"; tensor 0 has "
                               "the shape [3,4]."));
  EXPECT_TRUE(
      message("i1->i", {a})
          .starts_with(
              "einsum \"i1->i\" holds '1'; terms are made of letters and at most one \"...\"."));
  EXPECT_TRUE(message("ij->ii", {a}).contains("has the letter i twice behind the arrow"));
  EXPECT_TRUE(
      message("ij->k", {a}).contains("has the letter k behind the arrow, which no tensor has"));
  EXPECT_TRUE(message("ij,ij->ij", {a, a.transpose()})
                  .starts_with("einsum needs equal extents along dimensions that go together; "
                               "tensor 1 is f32[4,3], and its "
                               "dimension 0 should have 3."));
}

TEST(DeviceMath, Products) {
  const Tensor a = counted({2, 3});
  EXPECT_EQ(tensordot(a, a).item(), 55.0F);
  EXPECT_EQ(tensordot(a, a.transpose(), 1).to_vector(), (Floats{5, 14, 14, 50}));
  EXPECT_EQ(tensordot(a, a, {0}, {0}).to_vector(), matmul(a.transpose(), a).to_vector());
  EXPECT_EQ(tensordot(floats({1, 2}), floats({3, 4}), 0).to_vector(), (Floats{3, 4, 6, 8}));
  EXPECT_EQ(inner(a, a).to_vector(), (Floats{5, 14, 14, 50}));
  EXPECT_EQ(inner(floats({1, 2}), floats({3, 4})).item(), 11.0F);
  EXPECT_EQ(outer(floats({1, 2}), floats({3, 4, 5})).to_vector(), (Floats{3, 4, 5, 6, 8, 10}));
  EXPECT_EQ(kron(floats({1, 10}), floats({1, 2, 3})).to_vector(), (Floats{1, 2, 3, 10, 20, 30}));
  EXPECT_EQ(kron(eye(api_device(), 2), floats({1, 2})).to_vector(),
            (Floats{1, 2, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(cross(floats({1, 0, 0}), floats({0, 1, 0})).to_vector(), (Floats{0, 0, 1}));
  EXPECT_EQ(cross(counted({3, 2}), counted({3, 2}) * 2 + 1, 0).to_vector(),
            (Floats{-2, -2, 4, 4, -2, -2}));
  EXPECT_TRUE(message_of([&] { (void)tensordot(a, a, {1}, {0}); })
                  .starts_with("tensordot needs equal extents; dimension 1 of f32[2,3] meets "
                               "dimension 0 of f32[2,3]. (tensordot at "));
  EXPECT_TRUE(message_of([&] {
                (void)cross(a, a, 0);
              }).starts_with("cross needs three numbers along axis 0"));
}

}  // namespace
}  // namespace weft::test
