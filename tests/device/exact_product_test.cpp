// Products with quantized weights at the highest precision: what they lose, and that rows do not
// depend on their neighbours.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t width = 512;
constexpr std::uint64_t outputs = 40;
constexpr LinearOptions highest{.precision = Precision::highest};

std::vector<float> noise(std::uint64_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<double>(seed) / 0x1p31 - 1);
  }
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The largest error against sums in double, in units of the root of the sum of squares.
double error_of(const Tensor& y, const std::vector<float>& x, const std::vector<float>& w) {
  const std::vector<float> got = y.to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double sum = 0;
    double squares = 0;
    for (std::size_t k = 0; k < width; ++k) {
      const double product = static_cast<double>(x[i / outputs * width + k]) *
                             static_cast<double>(w[i % outputs * width + k]);
      sum += product;
      squares += product * product;
    }
    worst = std::max(worst, std::abs(got[i] - sum) / std::sqrt(squares));
  }
  return worst;
}

class DeviceExact : public testing::TestWithParam<DType> {
 protected:
  Tensor weights = api_device().tensor({outputs, width}, noise(outputs* width, 3)).to(GetParam());
};

TEST_P(DeviceExact, ARowHasTheSameBitsAmongAnyNumberOfOthers) {
  const Tensor x = api_device().tensor({70, width}, noise(70 * width, 5));
  const Tensor bias = api_device().tensor({outputs}, noise(outputs, 7));
  const std::vector<float> all = linear(x, weights, bias, highest).to_vector();
  for (const std::uint64_t rows : {1U, 2U, 3U, 5U, 8U, 9U, 16U, 17U, 33U, 64U}) {
    const std::vector<float> some = linear(x.slice(0, 6, rows), weights, bias, highest).to_vector();
    const auto first = all.begin() + 6 * outputs;
    EXPECT_TRUE(same_bits(some, {first, first + static_cast<std::ptrdiff_t>(some.size())}))
        << rows << " rows";
  }
  // Batches count as rows.
  EXPECT_TRUE(
      same_bits(linear(x.reshape({7, 10, width}), weights, bias, highest).to_vector(), all));
}

TEST_P(DeviceExact, ItLosesWhatSumsInF32Lose) {
  const std::vector<float> x = noise(24 * width, 11);
  const std::vector<float> w = weights.to(DType::f32).to_vector();
  const Tensor on_device = api_device().tensor({24, width}, x);
  const double exact = error_of(linear(on_device, weights, {}, highest), x, w);
  const double standard = error_of(linear(on_device, weights), x, w);
  EXPECT_LT(exact, 3e-6);
  EXPECT_LT(standard, 1e-3) << "as the documentation has it";
  if (GetParam() == DType::mxfp4) return;  // f16 holds its values.
  EXPECT_LT(exact, standard / 10) << "then the option has nothing to decide";
}

TEST_P(DeviceExact, RowsByIdKeepTheirBits) {
  const Tensor matrices = concat({weights, weights.slice(0, 8, 24), weights.slice(0, 0, 16)}, 0)
                              .reshape({2, outputs, width});
  const Tensor x = api_device().tensor({40, 1, width}, noise(40 * width, 13));
  std::vector<std::int32_t> ids(80);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 5 % 2);
  const Tensor choice = api_device().tensor({40, 2}, ids);
  const std::vector<float> all = grouped_linear(x, matrices, choice, highest).to_vector();
  for (const std::uint64_t rows : {1U, 9U, 30U}) {
    const std::vector<float> some =
        grouped_linear(x.slice(0, 3, rows), matrices, choice.slice(0, 3, rows), highest)
            .to_vector();
    const auto first = all.begin() + 3 * 2 * outputs;
    EXPECT_TRUE(same_bits(some, {first, first + static_cast<std::ptrdiff_t>(some.size())}))
        << rows << " rows";
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DeviceExact,
                         testing::Values(DType::q4_0, DType::q5_1, DType::q8_0, DType::mxfp4),
                         [](const auto& type) { return std::string(name(type.param)); });

}  // namespace
}  // namespace weft::test
