// What the functions of the public API mean: axes, names of forms, and results at their edges, as
// in numpy.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Values = std::vector<float>;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor row(const Values& values) { return api_device().tensor({values.size()}, values); }

/// Different numbers in no order, [2, 3, 4].
Tensor numbers() {
  Values values(24);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7 % 24) * 0.25F - 2;
  }
  return api_device().tensor({2, 3, 4}, values);
}

void expect_near(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.shape(), wanted.shape());
  const Values a = got.to_vector();
  const Values b = wanted.to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
}

/// A function along another axis is the same along the last one of the permuted tensor.
template <class Function>
void expect_any_axis(const Function& function) {
  const Tensor x = numbers();
  const std::vector<std::vector<int>> to_last{{1, 2, 0}, {0, 2, 1}, {0, 1, 2}};
  const std::vector<std::vector<int>> back{{2, 0, 1}, {0, 2, 1}, {0, 1, 2}};
  for (int axis = 0; axis < 3; ++axis) {
    const auto number = static_cast<std::size_t>(axis);
    const Tensor wanted = function(x.permute(to_last[number]), 2).permute(back[number]);
    expect_near(function(x, axis), wanted);
    expect_near(function(x, axis - 3), wanted);
  }
  for (const int axis : {3, -4}) {
    try {
      (void)function(x, axis);
      FAIL() << "axis " << axis << " of [2,3,4]";
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).contains("from -3 to 2; " + std::to_string(axis)))
          << error.what();
    }
  }
}

TEST(DeviceFunctions, RowsMayLieAlongAnyAxis) {
  expect_any_axis([](const Tensor& x, int axis) { return softmax(x, axis); });
  expect_any_axis([](const Tensor& x, int axis) { return softmax(x, axis, {.scale = 0.5F}); });
  expect_any_axis([](const Tensor& x, int axis) { return log_softmax(x, axis); });
  expect_any_axis([](const Tensor& x, int axis) { return layer_norm(x, {}, {}, 1e-5F, axis); });
  expect_any_axis([](const Tensor& x, int axis) { return rms_norm(x, {}, 1e-5F, axis); });
  expect_any_axis([](const Tensor& x, int axis) { return normalize(x, axis); });
  expect_any_axis([](const Tensor& x, int axis) { return sort(x, axis).values; });
  expect_any_axis([](const Tensor& x, int axis) { return argsort(x, axis, true).to(DType::f32); });
  expect_any_axis([](const Tensor& x, int axis) { return top_k(x, 2, axis, false).values; });
  expect_any_axis([](const Tensor& x, int axis) { return cumsum(x, axis); });
  expect_any_axis([](const Tensor& x, int axis) { return sum(x, {axis}, true); });
  const Tensor weight = row({1, 2, 3});
  const Tensor scaled = rms_norm(numbers(), weight, 1e-5F, 1);
  expect_near(scaled, rms_norm(numbers(), {}, 1e-5F, 1) * weight.reshape({3, 1}));
}

TEST(DeviceFunctions, TransformsMayGoAlongAnyAxis) {
  const Tensor x = numbers();
  for (int axis = 0; axis < 3; ++axis) {
    const Tensor half = rfft(x, axis);
    EXPECT_EQ(half.shape().size(), 4U);
    const auto n = static_cast<std::uint64_t>(x.shape()[static_cast<std::size_t>(axis)]);
    EXPECT_EQ(half.shape()[static_cast<std::size_t>(axis)], n / 2 + 1);
    expect_near(irfft(half, n, axis), x);
    expect_near(rfft(x, axis - 3), half);
  }
  const Tensor pairs = numbers().reshape({3, 4, 2});
  expect_near(ifft(fft(pairs, 0), 0), pairs);
  expect_near(fft(pairs, 0), fft(pairs.permute({1, 0, 2})).permute({1, 0, 2}));
  expect_near(fft(pairs, -2), fft(pairs, 0));
}

TEST(DeviceFunctions, FormsOfGelu) {
  const Values points{-3, -1, -0.1F, 0, 0.5F, 2};
  const Tensor x = row(points);
  const Values erf_form = gelu(x).to_vector();
  const Values tanh_form = gelu(x, {.approximate = "tanh"}).to_vector();
  const Values gated = geglu(x, x, {.approximate = "tanh"}).to_vector();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double v = points[i];
    EXPECT_NEAR(erf_form[i], 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))), 2e-6);
    const double inner = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
    EXPECT_NEAR(tanh_form[i], 0.5 * v * (1 + std::tanh(inner)), 2e-6);
    EXPECT_NEAR(gated[i], 0.5 * v * (1 + std::tanh(inner)) * v, 6e-6);
  }
  EXPECT_THROW((void)gelu(x, {.approximate = "erf"}), Error);
}

TEST(DeviceFunctions, RemaindersHaveTheSignOfPythonAndOfC) {
  const Values a{7, -7, 7, -7, 6, -6, -0.5F};
  const Values b{3, 3, -3, -3, 3, 3, 2};
  EXPECT_EQ(remainder(row(a), row(b)).to_vector(), (Values{1, 2, -2, -1, 0, 0, 1.5F}));
  EXPECT_EQ(fmod(row(a), row(b)).to_vector(), (Values{1, -1, 1, -1, 0, 0, -0.5F}));
  const Tensor c = api_device().tensor({4}, std::vector<std::int32_t>{7, -7, 7, -7});
  const Tensor d = api_device().tensor({4}, std::vector<std::int32_t>{3, 3, -3, -3});
  EXPECT_EQ(remainder(c, d).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, -2, -1}));
  EXPECT_EQ(fmod(c, d).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, -1, 1, -1}));
}

TEST(DeviceFunctions, SumsOfExponentialsDoNotOverflow) {
  const Values got =
      logaddexp(row({0, 1000, -1000, inf, -inf, inf, -inf}), row({0, 1000, 0, 1, -inf, -inf, 3}))
          .to_vector();
  const Values wanted{std::log(2.0F), 1000 + std::log(2.0F), 0, inf, -inf, inf, 3};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], 1e-4) << i;
    }
  }
  EXPECT_TRUE(std::isnan(logaddexp(row({nan}), row({1})).item()));
}

TEST(DeviceFunctions, PlacesInSortedRows) {
  using Ints = std::vector<std::int32_t>;
  const Tensor sorted = row({1, 2, 2, 2, 5});
  const Tensor values = row({0, 1, 2, 3, 5, 6, nan, inf, -inf});
  EXPECT_EQ(searchsorted(sorted, values).to_vector<std::int32_t>(),
            (Ints{0, 0, 1, 4, 4, 5, 5, 5, 0}));
  EXPECT_EQ(searchsorted(sorted, values, true).to_vector<std::int32_t>(),
            (Ints{0, 1, 4, 4, 5, 5, 5, 5, 0}));
  const Tensor many = row({0, 2, 3, 6}).reshape({2, 1, 2});
  EXPECT_EQ(searchsorted(sorted, many).to_vector<std::int32_t>(), (Ints{0, 1, 4, 5}));
  EXPECT_EQ(searchsorted(sorted, many).shape(), (Shape{2, 1, 2}));
  EXPECT_THROW((void)searchsorted(sorted, values.to(DType::i32)), Error);
  EXPECT_THROW((void)searchsorted(sorted.reshape({1, 5}), row({1, 2}).reshape({2, 1})), Error);
}

TEST(DeviceFunctions, LinearAddsItsBias) {
  const Tensor x = row({1, 2, 3, 4}).reshape({2, 2});
  const Tensor weight = row({1, 0, 0, 1, 1, 1}).reshape({3, 2});
  EXPECT_EQ(linear(x, weight).to_vector(), (Values{1, 2, 3, 3, 4, 7}));
  EXPECT_EQ(linear(x, weight, row({10, 20, 30})).to_vector(), (Values{11, 22, 33, 13, 24, 37}));
  EXPECT_THROW((void)linear(x, {}), Error);
}

TEST(DeviceFunctions, StepsOfGradientDescent) {
  const Tensor w = row({1, 2});
  const Tensor g = row({0.5F, -1});
  const SgdStep plain = sgd(w, g, {}, {.lr = 0.1});
  expect_near(plain.weights, row({0.95F, 2.1F}));
  EXPECT_FALSE(plain.velocity);
  const SgdStep moved = sgd(w, g, row({1, 1}), {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5});
  expect_near(moved.velocity, row({1.9F, 0.9F}));  // 0.9 + 0.5 + 0.5, and 0.9 - 1 + 1
  expect_near(moved.weights, row({0.81F, 1.91F}));
  const Tensor rate = row({0.2F});
  expect_near(sgd(w, g, {}, {.learning_rate = rate}).weights, row({0.9F, 2.2F}));
}

TEST(DeviceFunctions, MistakesNameTheFunctionAndWhatIsNear) {
  const Tensor x = numbers();
  const auto message = [](const auto& make) -> std::string {
    try {
      (void)make();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(message([&] { return map("gelo", x); }).contains("did you mean `gelu`"));
  EXPECT_TRUE(message([&] { return reduce("summ", x); }).contains("did you mean `sum`"));
  EXPECT_TRUE(message([&] { return roll(x, {1}); }).contains("roll at functions_test"));
  EXPECT_TRUE(message([&] { return concat({x}, 5); }).contains("concat at"));
  EXPECT_TRUE(message([&] { return normalize(x.to(DType::i32)); }).contains("normalize at"));
}

}  // namespace
}  // namespace weft::test
