// Random numbers on the host, which those of every device equal bit by bit (Op_random* and
// DeviceRandom*).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/random/host.hpp"
#include "ops/random/threefry.hpp"

namespace weft::ops::random {
namespace {

TEST(Random, BitsAreThoseOfThePublishedCipher) {
  EXPECT_EQ(threefry({0, 0}, {0, 0}), (Pair{0x6b200159U, 0x99ba4efeU}));
  EXPECT_EQ(threefry({0xffffffffU, 0xffffffffU}, {0xffffffffU, 0xffffffffU}),
            (Pair{0x1cb996fcU, 0xbb002be7U}));
  EXPECT_EQ(threefry({0x13198a2eU, 0x03707344U}, {0x243f6a88U, 0x85a308d3U}),
            (Pair{0xc4923a9cU, 0x483df7a0U}));
}

/// Words from both ends, around every row of the tables, and in between.
std::vector<std::uint32_t> words() {
  std::vector<std::uint32_t> out;
  for (std::uint32_t shift = 0; shift < 27; ++shift) {
    for (std::uint32_t lead = 0; lead < 32; ++lead) {
      const std::uint32_t start = lead << shift;
      for (const std::uint32_t more : {0U, 1U, 5U, (1U << shift) / 3, (1U << shift) - 1}) {
        out.push_back((start + more) & 0x7fffffffU);
        out.push_back(~out.back());
      }
    }
  }
  for (std::uint32_t i = 0; i < 20000; ++i) out.push_back(threefry({1, 2}, {i, 0})[0]);
  return out;
}

TEST(Random, NormalNumbersAreQuantiles) {
  const Numbers plain = numbers_of({.function = Function::normal}, DType::f32);
  for (const std::uint32_t word : words()) {
    const double z = draw_float(Function::normal, plain, word);
    const std::uint32_t tail = word >> 31U != 0 ? ~word : word;
    const double p = (tail + 0.5) * 0x1p-32;
    EXPECT_EQ(z > 0, word >> 31U != 0) << word;
    // The distance to the quantile follows from how far the probability is off, by the density
    // there.
    const double off = 0.5 * std::erfc(std::abs(z) / std::sqrt(2.0)) - p;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
    EXPECT_LE(std::abs(off / density), 2.5e-7 * std::max(std::abs(z), 0.25)) << word << " " << z;
  }
}

TEST(Random, GumbelNumbersAreQuantiles) {
  for (const std::uint32_t word : words()) {
    const double g = draw_float(Function::gumbel, {}, word);
    const double u = word >> 31U != 0 ? -std::log1p(-(~word + 0.5) * 0x1p-32)
                                      : -std::log((word + 0.5) * 0x1p-32);
    EXPECT_NEAR(g, -std::log(u), 3e-7 * std::max(std::abs(g), 1.0)) << word;
  }
  for (const float weight : {1e-30F, 0.03F, 0.999F, 1.0F, 1.0001F, 7.3F, 3e30F}) {
    EXPECT_NEAR(log_weight(weight), std::log(double{weight}),
                1e-6 * (1 + std::abs(std::log(double{weight}))));
  }
  EXPECT_LT(log_weight(0), -1e38F);
  EXPECT_LT(log_weight(-1), -1e38F);
  EXPECT_LT(log_weight(NAN), -1e38F);
}

TEST(Random, UniformNumbersStayBelowTheirLimit) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const auto& [low, high] : {std::pair{0.0, 1.0}, {-1.0, 0.0}, {1.0, 1.02}, {-5.0, -1e-6}}) {
      const Numbers numbers =
          numbers_of({.function = Function::uniform, .low = low, .high = high}, type);
      EXPECT_LT(numbers.most, static_cast<float>(high)) << name(type);
      EXPECT_EQ(draw_float(Function::uniform, numbers, 0), static_cast<float>(low));
      EXPECT_LE(draw_float(Function::uniform, numbers, 0xffffffffU), numbers.most);
    }
  }
}

TEST(Random, WholeNumbersAreSpreadEvenly) {
  const Numbers numbers =
      numbers_of({.function = Function::randint, .low = -3, .high = 4}, DType::i32);
  std::vector<int> seen(7);
  for (std::uint32_t i = 0; i < 70000; ++i) {
    const auto drawn = static_cast<std::int32_t>(
        draw_word(Function::randint, numbers, block_of({5, 6}, i, 0, Function::randint)));
    ASSERT_TRUE(drawn >= -3 && drawn < 4) << drawn;
    ++seen[static_cast<std::size_t>(drawn + 3)];
  }
  for (const int count : seen) EXPECT_NEAR(count, 10000, 400);
}

TEST(Random, RefusalsNameTheFunctionAndTheValues) {
  const auto message = [](const Distribution& d, DType type) {
    const Status status = check(d, type);
    return status ? std::string("no error") : status.error().message;
  };
  EXPECT_EQ(message({.function = Function::uniform, .low = 2, .high = 2}, DType::f32),
            "uniform needs finite limits with low < high; they are 2 and 2.");
  EXPECT_EQ(
      message({.function = Function::normal, .std = -1}, DType::f16),
      "normal needs a finite mean and a standard deviation of at least 0; they are 0 and -1.");
  EXPECT_EQ(message({.function = Function::normal}, DType::i32), "normal does not give i32.");
}

}  // namespace
}  // namespace weft::ops::random
