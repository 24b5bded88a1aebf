#include "base/decimal.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <format>
#include <limits>
#include <random>
#include <string>

namespace weft {
namespace {

TEST(Decimal, IsExact) {
  EXPECT_EQ(Decimal(0.0).digits(), "");
  EXPECT_EQ(Decimal(-12.5).digits(), "125");
  EXPECT_EQ(Decimal(-12.5).point(), 2);
  EXPECT_EQ(Decimal(0.1).digits(), "1000000000000000055511151231257827021181583404541015625");
  EXPECT_EQ(Decimal(0.1).point(), 0);
  EXPECT_EQ(Decimal(std::ldexp(1.0, -1074)).digits().size(), 751U);
  EXPECT_EQ(Decimal(1e300).point(), 301);
}

TEST(Decimal, ReadsTexts) {
  const auto value = [](std::string_view text) { return Decimal(text).value(); };
  EXPECT_EQ(value("0"), 0.0);
  EXPECT_EQ(value("000.000"), 0.0);
  EXPECT_EQ(value("0012.50"), 12.5);
  EXPECT_EQ(value(".00125e+4"), 12.5);
  EXPECT_EQ(value("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value("1e99999999999999999999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value("1e-400"), 0.0);
  EXPECT_EQ(value("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(value("1" + std::string(900, '0') + "e-900"), 1.0);
}

TEST(Decimal, GivesTheNearestDouble) {
  const auto value = [](std::string_view text) { return Decimal(text).value(); };
  // Half way between two, a little more, and a little more very far behind.
  EXPECT_EQ(value("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(value("9007199254740993.000001"), 9007199254740994.0);
  EXPECT_EQ(value("9007199254740993." + std::string(1000, '0') + "1"), 9007199254740994.0);
  EXPECT_EQ(value("9007199254740995"), 9007199254740996.0);
  // The ends of what doubles hold.
  EXPECT_EQ(value("1.7976931348623158e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(value("1.7976931348623159e308"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value("2.4703282292062327e-324"), 0.0);
  EXPECT_EQ(value("2.4703282292062328e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(value("2.2250738585072011e-308"), 2.2250738585072011e-308);
}

TEST(Decimal, GoesToTextAndBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    const double value = std::abs(std::bit_cast<double>(random()));
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(Decimal(value).value(), value);
    EXPECT_EQ(Decimal(std::format("{}", value)).value(), value);
  }
}

TEST(Decimal, RoundsHalfWayToEven) {
  const auto rounded = [](double value, int count) {
    Decimal number(value);
    number.round(count);
    return std::format("{}p{}", number.digits(), number.point());
  };
  EXPECT_EQ(rounded(0.5, 0), "p0");
  EXPECT_EQ(rounded(0.75, 0), "1p1");
  EXPECT_EQ(rounded(2.5, 1), "2p1");
  EXPECT_EQ(rounded(3.5, 1), "4p1");
  EXPECT_EQ(rounded(99.5, 2), "1p3");
  EXPECT_EQ(rounded(99.25, 3), "992p2");
  EXPECT_EQ(rounded(99.25, 9), "9925p2");
}

}  // namespace
}  // namespace weft
