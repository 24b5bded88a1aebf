// How many digits elementwise functions keep where their results are small.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "ops/map/functions.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

constexpr double epsilon = 0x1p-23;

/// Numbers of both signs (where `negative`), evenly spread on a logarithmic scale.
std::vector<float> spread(double low, double high, bool negative) {
  std::vector<float> out;
  const double steps = 600;
  for (int i = 0; i <= static_cast<int>(steps); ++i) {
    const double size = low * std::pow(high / low, i / steps);
    out.push_back(static_cast<float>(size));
    if (negative) out.push_back(static_cast<float>(-size));
  }
  return out;
}

struct Row {
  const char* function;
  double low;
  double high;
  bool negative;
  double epsilons;  ///< Of the result itself.
};

class DevicePrecision : public testing::TestWithParam<Row> {};

TEST_P(DevicePrecision, RelativeError) {
  const Row& test = GetParam();
  const std::vector<float> x = spread(test.low, test.high, test.negative);
  const ops::map::Function& function = *ops::map::find_function(test.function);
  const std::vector<float> y =
      map(test.function, api_device().tensor({x.size()}, x), function.defaults).to_vector();
  double worst = 0;
  float where = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = function.reference(x[i], 0, 0, function.defaults);
    if (std::abs(wanted) < 1e-36) continue;  // float units may make 0 of what is smaller
    const double error = std::abs(y[i] - wanted) / std::abs(wanted) / epsilon;
    if (!(error > worst)) continue;
    worst = error;
    where = x[i];
  }
  EXPECT_LE(worst, test.epsilons) << test.function << " of " << where;
}

std::string name_of(const testing::TestParamInfo<Row>& info) {
  return std::string(info.param.function) + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, DevicePrecision,
    testing::Values(Row{"tanh", 1e-30, 20, true, 8}, Row{"erf", 1e-30, 8, true, 8},
                    Row{"sin", 1e-30, 3, true, 8}, Row{"sin", 3.3, 6, true, 16},
                    Row{"cos", 1e-30, 1.5, true, 8}, Row{"tan", 1e-30, 1.5, true, 16},
                    Row{"expm1", 1e-30, 20, true, 16}, Row{"log1p", 1e-30, 0.9, true, 16},
                    Row{"log1p", 0.5, 1e20, false, 16}, Row{"log", 1.0000002, 1e30, false, 16},
                    Row{"gelu", 1e-30, 12, true, 64}, Row{"gelu_tanh", 1e-30, 5, true, 128},
                    Row{"softplus", 1e-30, 80, true, 128}, Row{"mish", 1e-30, 60, true, 128},
                    Row{"silu", 1e-30, 60, true, 128}, Row{"sigmoid", 1e-30, 60, true, 128}),
    name_of);

}  // namespace
}  // namespace weft::test
