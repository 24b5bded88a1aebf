// What numpy, PyTorch and MLX have by the same name: values at their edges, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
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
using Bools = std::vector<std::uint8_t>;
using Ints = std::vector<std::int32_t>;

constexpr float infinity = std::numeric_limits<float>::infinity();

Tensor floats(const Floats& values) { return api_device().tensor({values.size()}, values); }
Tensor ints(const Ints& values) { return api_device().tensor({values.size()}, values); }
Bools bools(const Tensor& x) { return x.to_vector<std::uint8_t>(); }

void expect_near(const Tensor& got, const std::vector<double>& wanted) {
  const Floats values = got.to_vector();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(values[i], wanted[i], 2e-6 * std::max(1.0, std::abs(wanted[i]))) << i;
  }
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceNames, SignsAndInfinities) {
  const Tensor x = floats({1, -1, 0.0F, -0.0F, infinity, -infinity, NAN});
  EXPECT_EQ(bools(isposinf(x)), (Bools{0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(bools(isneginf(x)), (Bools{0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(bools(signbit(x)), (Bools{0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(bools(isposinf(ints({1, -5}))), (Bools{0, 0}));
  EXPECT_EQ(bools(signbit(ints({1, -5, 0}))), (Bools{0, 1, 0}));
  EXPECT_EQ(copysign(floats({3, -3, 0, infinity}), floats({-0.0F, 0, -1, -2})).to_vector(),
            (Floats{-3, 3, 0, -infinity}));
  EXPECT_EQ(copysign(ints({3, -3}), ints({-1, 2})).to_vector(), (Floats{-3, 3}));
}

TEST(DeviceNames, LengthsAndAngles) {
  const Tensor x = floats({3, -3e30F, 0, infinity, NAN, 1e-30F});
  const Tensor y = floats({-4, 4e30F, 0, NAN, 1, 0});
  const Floats length = hypot(x, y).to_vector();
  EXPECT_NEAR(length[0], 5, 1e-6);
  EXPECT_NEAR(length[1] * 1e-30F, 5, 1e-5);
  EXPECT_EQ(length[2], 0.0F);
  EXPECT_EQ(length[3], infinity);
  EXPECT_TRUE(std::isnan(length[4]));
  EXPECT_NEAR(length[5] * 1e30F, 1, 1e-5);
  const Tensor zero = variable(floats({0}));
  EXPECT_EQ(grad(sum(hypot(zero, zero)), {zero})[0].to_vector(), Floats{0});
  expect_near(rad2deg(floats({3.14159265F, -1})), {180, -57.29577951});
  expect_near(radians(ints({180, -90})), {3.14159265, -1.57079633});
}

TEST(DeviceNames, DiagonalsAndDifferences) {
  const Tensor x = ints({1, 2});
  EXPECT_EQ(diag(x).to_vector<std::int32_t>(), (Ints{1, 0, 0, 2}));
  EXPECT_EQ(diag(x, 1).to_vector<std::int32_t>(), (Ints{0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(diag(x, -1).to_vector<std::int32_t>(), (Ints{0, 0, 0, 1, 0, 0, 0, 2, 0}));
  EXPECT_EQ(diag(floats({NAN, 1})).at(1).to_vector(), (Floats{0, 1}));
  EXPECT_EQ(diag(diag(x, 2), 2).to_vector<std::int32_t>(), (Ints{1, 2}));
  EXPECT_EQ(diag(floats({}), -2).to_vector(), Floats(4, 0));
  EXPECT_EQ(bools(diag(x > 1)), (Bools{0, 0, 0, 1}));
  EXPECT_TRUE(message_of([] {
                (void)diag(api_device().full({}, 1));
              }).starts_with("diag needs a vector or a matrix; it was given f32[]. (diag at "));
  EXPECT_EQ(diff(ints({1, 4, 9, 16})).to_vector<std::int32_t>(), (Ints{3, 5, 7}));
  EXPECT_EQ(diff(ints({1, 4, 9, 16}), 2).to_vector<std::int32_t>(), (Ints{2, 2}));
  EXPECT_EQ(diff(ints({1, 4}), 5).shape(), Shape{0});
  EXPECT_EQ(diff(ints({1, 4}), 0).to_vector<std::int32_t>(), (Ints{1, 4}));
  EXPECT_EQ(diff(api_device().arange(6).reshape({2, 3}), 1, 0).to_vector(), (Floats{3, 3, 3}));
  EXPECT_EQ(bools(diff(ints({0, 2, 2}) > 1)), (Bools{1, 0}));
}

TEST(DeviceNames, ShapesAndPlaces) {
  const Tensor one = api_device().full({}, 7);
  EXPECT_EQ(atleast_1d(one).shape(), Shape{1});
  EXPECT_EQ(atleast_2d(one).shape(), (Shape{1, 1}));
  EXPECT_EQ(atleast_3d(one).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(atleast_2d(floats({1, 2})).shape(), (Shape{1, 2}));
  EXPECT_EQ(atleast_3d(floats({1, 2})).shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(atleast_3d(api_device().full({2, 3}, 1)).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(atleast_3d(api_device().full({2, 0, 3, 1}, 1)).shape(), (Shape{2, 0, 3, 1}));
  const auto both = broadcast_arrays({api_device().full({3, 1}, 1), floats({1, 2}), one});
  ASSERT_EQ(both.size(), 3);
  for (const Tensor& each : both) EXPECT_EQ(each.shape(), (Shape{3, 2}));
  EXPECT_EQ(both[1].to_vector(), (Floats{1, 2, 1, 2, 1, 2}));
  EXPECT_TRUE(broadcast_arrays({}).empty());
  EXPECT_TRUE(message_of([] { (void)broadcast_arrays({floats({1, 2}), floats({1, 2, 3})}); })
                  .starts_with("broadcast_arrays needs shapes that broadcast; [3] does not go with "
                               "[2]. (broadcast_arrays at "));
  const Tensor x = api_device().arange(6).reshape({2, 3});
  EXPECT_EQ(roll(x, {1}, {-1}).to_vector(), (Floats{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(roll(x, {1, 2, -1}, {0, 1, 1}).to_vector(), (Floats{5, 3, 4, 2, 0, 1}));
  EXPECT_EQ(roll(floats({}), {3}, {0}).shape(), Shape{0});
  EXPECT_TRUE(message_of([&] {
                (void)roll(x, {1, 2}, {0});
              }).starts_with("roll was given 2 numbers of places and 1 axes. (roll at "));
}

TEST(DeviceNames, ProductsOfVectors) {
  const Tensor v = floats({1, 2, 3});
  const Tensor m = api_device().arange(6).reshape({2, 3});
  EXPECT_EQ(matmul(v, v).shape(), Shape{});
  EXPECT_EQ(matmul(v, v).item(), 14.0F);
  EXPECT_EQ(matmul(m, v).to_vector(), (Floats{8, 26}));
  EXPECT_EQ(matmul(v, m.transpose()).to_vector(), (Floats{8, 26}));
  const Tensor batch = broadcast_arrays({m, api_device().full({4, 2, 3}, 0)})[0];
  EXPECT_EQ(matmul(batch, v).shape(), (Shape{4, 2}));
  EXPECT_EQ(matmul(floats({1, 2}), batch).shape(), (Shape{4, 3}));
  EXPECT_EQ(matmul(ints({1, 2}), ints({3, 4})).item<std::int32_t>(), 11);
  EXPECT_EQ(matmul(floats({}), floats({})).item(), 0.0F);
  EXPECT_TRUE(message_of([&] { (void)matmul(m, floats({1, 2})); })
                  .starts_with("matmul needs [..., M, K] or [K] and [..., K, N] or [K]; the shapes "
                               "are [2,3] and [2]. (matmul at "));
  EXPECT_TRUE(message_of([&] { (void)matmul(m, api_device().full({}, 1)); })
                  .starts_with("matmul needs [..., M, K] and [..., K, N]; the shapes are [2,3] and "
                               "[]. (matmul at "));
}

TEST(DeviceNames, TilesCountFromTheEnd) {
  const Tensor x = ints({1, 2});
  EXPECT_EQ(tile(x, {2, 2}).to_vector<std::int32_t>(), (Ints{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(tile(x, {2, 2}).shape(), (Shape{2, 4}));
  EXPECT_EQ(tile(x.reshape({2, 1}), {2}).to_vector<std::int32_t>(), (Ints{1, 1, 2, 2}));
  EXPECT_EQ(tile(x, {}).to_vector<std::int32_t>(), (Ints{1, 2}));
  EXPECT_EQ(tile(x, {0, 1}).shape(), (Shape{0, 2}));
  EXPECT_EQ(tile(api_device().full({}, 3), {2}).to_vector(), (Floats{3, 3}));
}

TEST(DeviceNames, Equality) {
  const Tensor x = floats({1, NAN});
  EXPECT_FALSE(array_equal(x, x));
  EXPECT_TRUE(array_equal(x, x, true));
  EXPECT_FALSE(array_equal(floats({1}), floats({1, 1})));
  EXPECT_TRUE(array_equal(floats({}), floats({})));
  EXPECT_TRUE(array_equal(ints({1, 2}), floats({1, 2})));
}

TEST(DeviceNames, OtherNames) {
  const Tensor a = floats({4, 9});
  EXPECT_EQ(subtract(10, a).to_vector(), (Floats{6, 1}));
  EXPECT_EQ(multiply(a, 2).to_vector(), (Floats{8, 18}));
  EXPECT_EQ(divide(ints({7, 8}), 2).to_vector(), (Floats{3.5, 4}));
  EXPECT_EQ(power(a, 0.5).to_vector(), (Floats{2, 3}));
  EXPECT_EQ(concatenate({a, negative(a)}).to_vector(), (Floats{4, 9, -4, -9}));
  EXPECT_EQ(moveaxis(api_device().full({2, 3, 4}, 1), 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(permute_dims(api_device().full({2, 3}, 1), {1, 0}).shape(), (Shape{3, 2}));
  expect_near(arctan2(floats({1}), -1), {2.35619449});
}

TEST(DeviceActivations, Values) {
  const Tensor x = floats({-infinity, -9, -0.25F, 0, 0.5F, 9, infinity, NAN});
  const auto last = [](const Tensor& y) { return y.to_vector().back(); };
  for (const Tensor& y : {relu6(x), hardtanh(x), selu(x), celu(x), softshrink(x), hardshrink(x),
                          log_sigmoid(x), softsign(x), prelu(x, api_device().full({}, 0.5))}) {
    EXPECT_TRUE(std::isnan(last(y)));
  }
  const Tensor y = x.slice(0, 0, 7);
  EXPECT_EQ(relu6(y).to_vector(), (Floats{0, 0, 0, 0, 0.5F, 6, 6}));
  EXPECT_EQ(hardtanh(y).to_vector(), (Floats{-1, -1, -0.25F, 0, 0.5F, 1, 1}));
  EXPECT_EQ(hardshrink(y).to_vector(), (Floats{-infinity, -9, 0, 0, 0, 9, infinity}));
  EXPECT_EQ(softshrink(y, 0.375).to_vector(),
            (Floats{-infinity, -8.625F, 0, 0, 0.125F, 8.625F, infinity}));
  const Tensor z = y.slice(0, 1, 5);
  expect_near(selu(z), {-1.75788237, -0.38889020, 0, 0.52535050, 9.45630889});
  expect_near(celu(z, 2), {-1.97778201, -0.23500619, 0, 0.5, 9});
  expect_near(softsign(z), {-0.9, -0.2, 0, 1.0 / 3, 0.9});
  expect_near(log_sigmoid(z), {-9.00012340, -0.82593942, -0.69314718, -0.47407698, -1.2340218e-4});
  EXPECT_EQ(log_sigmoid(floats({-1e4F})).to_vector(), Floats{-1e4F});
  EXPECT_EQ(prelu(api_device().full({1, 2, 2}, -1), floats({2, 3}).reshape({2, 1})).to_vector(),
            (Floats{-2, -2, -3, -3}));
  expect_near(glu(floats({1, 2, 0, -1})), {0.5, 0.53788284});
  EXPECT_EQ(glu(api_device().full({2, 0}, 1)).shape(), (Shape{2, 0}));
  EXPECT_EQ(selu(z.to(DType::f16)).dtype(), DType::f16);
  EXPECT_EQ(selu(ints({1})).dtype(), DType::f32);
}

TEST(DeviceActivations, WhatTheyRefuse) {
  const Tensor x = floats({1, 2, 3});
  EXPECT_TRUE(message_of([&] { (void)glu(x); })
                  .starts_with("glu needs two halves along axis -1 of f32[3]; the extent there is "
                               "3. (glu at "));
  EXPECT_TRUE(message_of([&] {
                (void)glu(x, 1);
              }).starts_with("glu with the shape [3] takes an axis from -1 to 0; 1 was given."));
  EXPECT_TRUE(message_of([&] {
                (void)celu(x, -1);
              }).starts_with("celu needs an alpha above 0; it is -1. (celu at "));
  EXPECT_TRUE(message_of([&] {
                (void)softshrink(x, -1);
              }).starts_with("softshrink needs a limit that is not below 0; it is -1."));
  EXPECT_TRUE(message_of([&] {
                (void)hardtanh(x, 2, 1);
              }).starts_with("hardtanh needs limits with low <= high; they are 2 and 1."));
  EXPECT_TRUE(message_of([&] { (void)prelu(x, floats({1, 2})); })
                  .starts_with("prelu of f32[3] needs a weight that broadcasts to its shape; it is "
                               "f32[2]. (prelu at "));
}

}  // namespace
}  // namespace weft::test
