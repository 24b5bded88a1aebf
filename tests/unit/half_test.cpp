#include "base/half.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/format.hpp"

namespace weft {
namespace {

/// A binary floating-point format, described by numbers only, as the reference needs it.
struct Format {
  int mantissa_bits;
  int min_exponent;  ///< Of the smallest normal number.
  int max_exponent;  ///< Of the largest finite number.
};

constexpr Format f16{10, -14, 15};
constexpr Format bf16{7, -126, 127};

/// The value that 16 bits mean, computed with double arithmetic from the definition of the format.
double meaning(const Format& format, std::uint32_t bits) {
  const std::uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1U);
  const int exponent = static_cast<int>((bits & 0x7fffU) >> format.mantissa_bits);
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const double fraction = std::ldexp(mantissa, -format.mantissa_bits);
  if (exponent == 2 * format.max_exponent + 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, format.min_exponent);
  return sign * std::ldexp(1.0 + fraction, exponent - format.max_exponent);
}

/// `value` rounded to the format, as a double: scale so that one unit in the last place is 1, round
/// to the nearest even integer, scale back. A float has 24 bits, so every step is exact in double.
double rounded(const Format& format, float value) {
  const double exact = value;
  if (exact == 0.0 || !std::isfinite(exact)) return exact;
  const int exponent = std::max(std::ilogb(exact), format.min_exponent);
  const double scaled = std::ldexp(exact, format.mantissa_bits - exponent);
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) != 0.0)) whole += 1.0;
  const double result = std::ldexp(whole, exponent - format.mantissa_bits);
  if (std::abs(result) >= std::ldexp(1.0, format.max_exponent + 1)) {
    return std::copysign(std::numeric_limits<double>::infinity(), exact);
  }
  return std::copysign(result, exact);
}

/// Empty if the bits mean exactly `expected` (NaN for NaN, and zeros with their sign).
std::string difference(const Format& format, float value, std::uint16_t bits) {
  const double actual = meaning(format, bits);
  const double expected =
      std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : rounded(format, value);
  const bool same = std::isnan(expected)
                        ? std::isnan(actual)
                        : actual == expected && std::signbit(actual) == std::signbit(expected);
  return same ? std::string()
              : formatted("{:a} became {:#06x} = {:a}, expected {:a}", value, bits, actual,
                          expected);
}

/// Floats where rounding goes wrong first: every 16-bit value of both formats, the ties between
/// neighbours, and the floats next to all of these.
std::vector<float> edge_values() {
  std::vector<float> values{0.0F, std::numeric_limits<float>::denorm_min(),
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity()};
  const auto add_around = [&](double center) {
    const auto value = static_cast<float>(center);
    if (!std::isfinite(value)) return;
    values.push_back(value);
    values.push_back(std::nextafter(value, std::numeric_limits<float>::infinity()));
    values.push_back(std::nextafter(value, -std::numeric_limits<float>::infinity()));
  };
  for (const Format& format : {f16, bf16}) {
    for (std::uint32_t bits = 0; bits < 0x7fffU; ++bits) {
      const double value = meaning(format, bits);
      double next = meaning(format, bits + 1);
      if (!std::isfinite(value)) continue;
      if (std::isinf(next)) next = std::ldexp(1.0, format.max_exponent + 1);
      add_around(value);
      add_around((value + next) / 2.0);
    }
  }
  return values;
}

/// Random bit patterns: all exponents, both signs, NaN and infinity included.
std::vector<float> random_values() {
  std::mt19937 generator(20240607);
  std::vector<float> values(2'000'000);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
  return values;
}

/// Random floats in the range where f16 has normal and subnormal numbers, which few patterns hit.
std::vector<float> random_f16_range() {
  std::mt19937 generator(7);
  std::uniform_int_distribution<std::uint32_t> magnitude(0x32000000U, 0x48000000U);
  std::vector<float> values(2'000'000);
  for (float& value : values) {
    const std::uint32_t bits = magnitude(generator);
    value = std::bit_cast<float>((generator() & 1U) != 0 ? bits | 0x80000000U : bits);
  }
  return values;
}

/// The first few differences of a conversion over values and their negatives.
std::string differences(const Format& format, std::uint16_t (*convert)(float),
                        const std::vector<float>& values) {
  std::string report;
  int count = 0;
  for (const float positive : values) {
    for (const float value : {positive, -positive}) {
      const std::string text = difference(format, value, convert(value));
      if (!text.empty() && count++ < 5) report += text + "\n";
    }
  }
  if (count > 0) report += formatted("{} differences\n", count);
  return report;
}

TEST(Half, EveryF16MeansWhatTheFormatSays) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = f32_from_f16(static_cast<std::uint16_t>(bits));
    const double expected = meaning(f16, bits);
    ASSERT_EQ(std::isnan(value), std::isnan(expected)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000U) != 0) << bits;
    if (!std::isnan(expected)) {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
    }
  }
}

TEST(Half, EveryBf16MeansWhatTheFormatSays) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = f32_from_bf16(static_cast<std::uint16_t>(bits));
    const double expected = meaning(bf16, bits);
    ASSERT_EQ(std::isnan(value), std::isnan(expected)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000U) != 0) << bits;
    if (!std::isnan(expected)) {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
    }
  }
}

TEST(Half, EveryF16ComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = f32_from_f16(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = f16_bits(value);
    if (std::isnan(value)) {  // a NaN keeps its sign; its payload may change
      ASSERT_TRUE(std::isnan(f32_from_f16(back))) << bits;
      ASSERT_EQ(back & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TEST(Half, EveryBf16ComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = f32_from_bf16(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = bf16_bits(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(f32_from_bf16(back))) << bits;
      ASSERT_EQ(back & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TEST(Half, F16RoundsToNearestEven) {
  EXPECT_EQ(differences(f16, f16_bits, edge_values()), "");
  EXPECT_EQ(differences(f16, f16_bits, random_values()), "");
  EXPECT_EQ(differences(f16, f16_bits, random_f16_range()), "");
}

TEST(Half, Bf16RoundsToNearestEven) {
  EXPECT_EQ(differences(bf16, bf16_bits, edge_values()), "");
  EXPECT_EQ(differences(bf16, bf16_bits, random_values()), "");
}

TEST(Half, KnownValues) {
  static_assert(f16_bits(1.0F) == 0x3c00);
  static_assert(f16_bits(-2.0F) == 0xc000);
  static_assert(f16_bits(65504.0F) == 0x7bff);
  static_assert(f16_bits(65519.996F) == 0x7bff);
  static_assert(f16_bits(65520.0F) == 0x7c00);
  static_assert(f16_bits(0x1p-24F) == 0x0001);
  static_assert(f16_bits(0x1p-25F) == 0x0000);
  static_assert(f16_bits(0x1.000002p-25F) == 0x0001);
  static_assert(f16_bits(0x1.ffcp-15F) == 0x0400);
  static_assert(bf16_bits(1.0F) == 0x3f80);
  static_assert(bf16_bits(1.00390625F) == 0x3f80);
  static_assert(bf16_bits(1.01171875F) == 0x3f82);
  static_assert(bf16_bits(std::numeric_limits<float>::max()) == 0x7f80);
  static_assert(f32_from_f16(0x3555) == 0.333251953125F);
  static_assert(f32_from_bf16(0x4049) == 3.140625F);
  // A bf16 NaN must not turn into infinity when its payload lies in the bits cut off.
  EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_bits(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_TRUE(std::isnan(f32_from_f16(f16_bits(std::bit_cast<float>(0xff800001U)))));
}

}  // namespace
}  // namespace weft
