// What elementwise functions make of zeros, infinities and NaN.
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
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

void expect_same(const std::string& what, const Floats& got, const Floats& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same =
        std::isnan(wanted[i])
            ? std::isnan(got[i])
            : got[i] == wanted[i] || std::abs(got[i] - wanted[i]) <= 1e-5F * std::abs(wanted[i]);
    EXPECT_TRUE(same) << what << ", element " << i << ": got " << got[i] << ", expected "
                      << wanted[i];
  }
}

Tensor row(const Floats& values) { return api_device().tensor({values.size()}, values); }

TEST(DeviceSpecialValues, NanStaysNan) {
  const Floats in{nan, -1, 2, inf, -inf};
  expect_same("relu", map("relu", row(in)).to_vector(), {nan, 0, 2, inf, 0});
  expect_same("tanh", map("tanh", row(in)).to_vector(),
              {nan, std::tanh(-1.0F), std::tanh(2.0F), 1, -1});
  expect_same("clamp", map("clamp", row(in), {-0.5, 1}).to_vector(), {nan, -0.5F, 1, 1, -0.5F});
  expect_same("reglu", map("reglu", row(in), row(Floats(5, 2))).to_vector(), {nan, 0, 4, inf, 0});
}

TEST(DeviceSpecialValues, PowersOfZeroOneAndNegativeNumbers) {
  const Floats base{0, 0, 0, 1, -2, -2, -2, -8, 2, -1};
  const Floats exponent{0, 2, -1, inf, 3, 2, 0.5F, -3, -2, 0};
  expect_same("pow", map("pow", row(base), row(exponent)).to_vector(),
              {1, 0, inf, 1, -8, 4, nan, -1.0F / 512, 0.25F, 1});
}

TEST(DeviceSpecialValues, AnglesAndRests) {
  const float half_turn = std::atan2(0.0F, -1.0F);
  expect_same("atan2",
              map("atan2", row({0, 0, 0, 1, -1, inf}), row({0, 1, -1, 0, 0, 1})).to_vector(),
              {0, 0, half_turn, half_turn / 2, -half_turn / 2, half_turn / 2});
  // 5.9999995 / 3 is 2 in f32, and the rest is not negative.
  expect_same(
      "fmod",
      map("fmod", row({7, -7, 7, -7, 3, 5.9999995F}), row({3, 3, -3, -3, inf, 3})).to_vector(),
      {1, -1, 1, -1, 3, 2.9999995F});
}

}  // namespace
}  // namespace weft::test
