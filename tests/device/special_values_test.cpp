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
  expect_same("elu", map("elu", row(in), {1}).to_vector(), {nan, std::expm1(-1.0F), 2, inf, -1});
  expect_same("hardsigmoid", hardsigmoid(row(in)).to_vector(), {nan, 2.0F / 6, 5.0F / 6, 1, 0});
  expect_same("norm", {norm(row(in)).item(), norm(row({inf, 1})).item()}, {nan, inf});
}

TEST(DeviceSpecialValues, PowersOfZeroOneAndNegativeNumbers) {
  const Floats base{0, 0, 0, 1, -2, -2, -2, -8, 2, -1};
  const Floats exponent{0, 2, -1, inf, 3, 2, 0.5F, -3, -2, 0};
  expect_same("pow", map("pow", row(base), row(exponent)).to_vector(),
              {1, 0, inf, 1, -8, 4, nan, -1.0F / 512, 0.25F, 1});
  expect_same("pow of infinities",
              map("pow", row({-1, -1, -0.0F, -0.0F, 0.5F, -inf, nan, -inf}),
                  row({inf, -inf, -1, 3, inf, 3, 0, 0.5F}))
                  .to_vector(),
              {1, 1, -inf, 0, 0, -inf, 1, inf});
  // Powers that are whole numbers are those numbers.
  const Floats whole = map("pow", row({3, 5, 7, 10, 2, -3}), row({4, 6, 5, 7, 16, 9})).to_vector();
  EXPECT_EQ(whole, (Floats{81, 15625, 16807, 10000000, 65536, -19683}));
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

TEST(DeviceSpecialValues, RestsOfLargeQuotientsAreExact) {
  const Floats a{1e10F, 1e30F, -1e10F, 1234.567F, 3e38F, 16777216, inf, 5, -1, 1e-3F};
  const Floats b{3, 7, 3, 0.1F, 1e-25F, 0.3F, 2, 0, inf, 1e-7F};
  Floats rests;
  Floats from_below;
  Floats quotients;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float rest = std::fmod(a[i], b[i]);
    const bool differs = rest != 0 && (rest < 0) != (b[i] < 0);
    rests.push_back(rest);
    from_below.push_back(differs ? rest + b[i] : rest);
    quotients.push_back(b[i] == 0 ? a[i] / b[i] : std::floor((a[i] - from_below.back()) / b[i]));
  }
  quotients[8] = -1;  // of a finite number and infinity
  const Floats got = map("fmod", row(a), row(b)).to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(std::isnan(rests[i]) ? std::isnan(got[i]) : got[i] == rests[i])
        << a[i] << " and " << b[i] << ": " << got[i] << ", expected " << rests[i];
  }
  expect_same("remainder", map("remainder", row(a), row(b)).to_vector(), from_below);
  expect_same("floor_divide", floor_divide(row(a), row(b)).to_vector(), quotients);
}

TEST(DeviceSpecialValues, LargeAnglesKeepTheirDigits) {
  Floats angles{100001, 1e6F, -1e6F, 1234567, 16777216, 1e8F, -1e10F, 1e15F, 1e20F, 1e30F, 3e38F};
  for (float x = 19000; x < 1e38F; x *= 1.7F) angles.push_back(x);
  const Tensor x = row(angles);
  const Floats sines = sin(x).to_vector();
  const Floats cosines = cos(x).to_vector();
  const Floats tangents = tan(x).to_vector();
  for (std::size_t i = 0; i < angles.size(); ++i) {
    const double angle = angles[i];
    EXPECT_NEAR(sines[i], std::sin(angle), 2e-7) << angle;
    EXPECT_NEAR(cosines[i], std::cos(angle), 2e-7) << angle;
    EXPECT_NEAR(tangents[i], std::tan(angle), 1e-6 * std::abs(std::tan(angle))) << angle;
  }
}

TEST(DeviceSpecialValues, QuotientsOfANumberAreRoundedOnce) {
  expect_same("49 / x", (49 / row({49, 3, 0, -0.0F, inf})).to_vector(),
              {1, 49.0F / 3, inf, -inf, 0});
  EXPECT_EQ((49 / row({49})).item(), 1.0F);
  expect_same("1e38 / 3e38", (1e38 / row({3e38F})).to_vector(), {1e38F / 3e38F});
  const Tensor x = row({2, -4});
  EXPECT_EQ(grad(sum(8 / x), {x}).front().to_vector(), (Floats{-2, -0.5F}));
  const Tensor whole = api_device().tensor({2}, std::vector<std::int32_t>{1, -1});
  expect_same("integers and infinity", (whole * static_cast<double>(inf)).to_vector(), {inf, -inf});
}

}  // namespace
}  // namespace weft::test
