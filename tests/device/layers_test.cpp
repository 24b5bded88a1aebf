// Layers and initial values of weft::nn, against the functions and the definitions that they stand
// for (tests/capi/test_nn.py compares the same layers with numpy, through C).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "shared.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using Floats = std::vector<float>;

/// Numbers that have nothing to do with each other.
Tensor some(const Shape& shape, double phase) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return sin(test::api_device().arange(count, phase, 1.7)).reshape(shape);
}

/// Gives a module other parameters than those that it starts with.
std::map<std::string, Tensor> fill(nn::Module& module) {
  std::map<std::string, Tensor> values;
  double phase = 0.3;
  for (const nn::Named& each : module.state()) {
    values[each.name] = some(each.tensor.shape(), phase += 1);
  }
  module.load_state(values);
  return values;
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance = 1e-5) {
  ASSERT_EQ(got.shape(), wanted.shape());
  const Floats a = got.to_vector();
  const Floats b = wanted.to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

/// (x - mean) / sqrt(variance + eps) over the last dimension of [rows, n], on the host.
Tensor standardised(const Tensor& x, double eps) {
  const std::uint64_t n = x.shape()[1];
  Floats values = x.to_vector();
  for (std::size_t row = 0; row < values.size(); row += n) {
    double mean = 0;
    double variance = 0;
    for (std::size_t i = 0; i < n; ++i) mean += values[row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) {
      variance += (values[row + i] - mean) * (values[row + i] - mean) / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i) {
      values[row + i] = static_cast<float>((values[row + i] - mean) / std::sqrt(variance + eps));
    }
  }
  return test::api_device().tensor(x.shape(), values);
}

TEST(NnLayers, NormsHaveTheirMeansAndVariances) {
  nn::Init init(test::api_device(), 2);
  const Tensor x = some({4, 6}, 0) * 3 + 1;
  nn::LayerNorm layer(init, 6, 0.25F);
  expect_near(layer(x), standardised(x, 0.25));  // it starts with ones and zeros
  auto own = fill(layer);
  expect_near(layer(x), standardised(x, 0.25) * own["weight"] + own["bias"]);
  nn::LayerNorm plain(init, 6, 1e-5F, false);
  EXPECT_EQ(plain.parameters().size(), 1U);
  expect_near(plain(x), standardised(x, 1e-5));

  const Tensor images = some({2, 6, 5}, 2) * 2 - 1;
  nn::GroupNorm groups(init, 3, 6, 0.1F);
  own = fill(groups);
  const Tensor normed = standardised(images.reshape({6, 10}), 0.1).reshape({2, 6, 5});
  expect_near(groups(images), normed * own["weight"].reshape({6, 1}) + own["bias"].reshape({6, 1}));
  EXPECT_THROW((void)nn::GroupNorm(init, 4, 6)(images), Error);

  nn::RMSNorm rms(init, 6, 0.5F);
  own = fill(rms);
  expect_near(rms(x), x / sqrt(mean(x * x, {1}, true) + 0.5) * own["weight"]);
}

TEST(NnLayers, AnMlpIsItsLayersWithActivationsBetween) {
  nn::Init init(test::api_device(), 2);
  nn::MLP mlp(init, {4, 6, 5, 2}, [](const Tensor& x) { return tanh(x); });
  EXPECT_EQ(mlp.size(), 5U);
  auto own = fill(mlp);
  Tensor y = some({3, 4}, 1);
  const Tensor got = mlp(y);
  for (const std::string place : {"0", "2", "4"}) {
    y = matmul(y, own[place + ".weight"].transpose()) + own[place + ".bias"];
    if (place != "4") y = tanh(y);
  }
  expect_near(got, y);
}

/// A convolution along one axis, element by element; as one of three axes of which two are 1 wide.
Floats convolved(const Tensor& x, const Tensor& weight, std::uint64_t stride, std::uint64_t pad) {
  const std::uint64_t n = x.shape()[2];
  const std::uint64_t outs = weight.shape()[0];
  const std::uint64_t ins = weight.shape()[1];
  const std::uint64_t k = weight.shape()[2];
  const std::uint64_t size = (n + 2 * pad - k) / stride + 1;
  const Floats values = x.to_vector();
  const Floats weights = weight.to_vector();
  Floats y(x.shape()[0] * outs * size);
  for (std::uint64_t i = 0; i < y.size(); ++i) {
    const std::uint64_t at = i % size;
    const std::uint64_t out = i / size % outs;
    double sum = 0;
    for (std::uint64_t in = 0; in < ins; ++in) {
      for (std::uint64_t j = 0; j < k; ++j) {
        const std::uint64_t place = at * stride + j;
        if (place < pad || place - pad >= n) continue;
        sum += double{values[(i / size / outs * ins + in) * n + place - pad]} *
               double{weights[(out * ins + in) * k + j]};
      }
    }
    y[i] = static_cast<float>(sum);
  }
  return y;
}

TEST(NnLayers, ConvolutionsOfOneAndThreeDimensions) {
  nn::Init init(test::api_device(), 2);
  const Tensor x = some({2, 3, 9}, 1);
  nn::Conv1d flat(init, 3, 4, 3, {.stride = 2, .padding = 1});
  auto own = fill(flat);
  const Tensor y = flat(x) - own["bias"].reshape({4, 1});
  const Floats wanted = convolved(x, own["weight"], 2, 1);
  expect_near(y, test::api_device().tensor(y.shape(), wanted));

  // Along the last axis alone, a kernel of 3 x 3 x 3 whose middle is not 0 does the same.
  nn::Conv3d deep(init, 3, 4, 3, {.stride = 2, .padding = 1, .bias = false});
  EXPECT_EQ(deep.parameters().size(), 1U);
  const Tensor middle =
      pad(own["weight"].reshape({4, 3, 1, 1, 3}), {0, 0, 1, 1, 0}, {0, 0, 1, 1, 0});
  deep.load_state({{"weight", middle}});
  expect_near(deep(x.reshape({2, 3, 1, 1, 9})).reshape(y.shape()), y);
}

/// <conv(x), y> = <x, conv_transpose(y)> with one kernel: that is what transposed means.
TEST(NnLayers, TransposedConvolutionsAreTheTransposes) {
  nn::Init init(test::api_device(), 2);
  const nn::ConvShape shape{.stride = 2, .padding = 1, .dilation = 2, .groups = 2, .bias = false};
  nn::ConvShape back = shape;
  back.output_padding = 1;
  const auto check = [&](nn::Layer& forward, nn::Layer& transposed, const Shape& extents) {
    const Tensor x = some(extents, 1);
    const Tensor y = forward(x);
    transposed.load_state({{"weight", fill(forward)["weight"]}});
    const Tensor other = some(y.shape(), 2);
    const Tensor image = transposed(other);
    ASSERT_EQ(image.shape(), extents);
    EXPECT_NEAR(sum(forward(x) * other).item(), sum(x * image).item(), 1e-3);
    EXPECT_GT(std::abs(sum(x * image).item()), 1e-2);
  };
  nn::Conv1d conv1(init, 4, 6, 2, shape);
  nn::ConvTranspose1d back1(init, 6, 4, 2, back);
  check(conv1, back1, {2, 4, 8});
  nn::Conv2d conv2(init, 4, 6, 2, shape);
  nn::ConvTranspose2d back2(init, 6, 4, 2, back);
  check(conv2, back2, {2, 4, 8, 6});
  nn::Conv3d conv3(init, 4, 6, 2, shape);
  nn::ConvTranspose3d back3(init, 6, 4, 2, back);
  check(conv3, back3, {1, 4, 6, 8, 4});
}

TEST(NnLayers, InitialValuesHaveTheirSpread) {
  nn::Init init(test::api_device(), 7);
  const auto moments = [](const Tensor& x) {
    const Floats values = x.to_vector();
    double mean = 0;
    double square = 0;
    double most = 0;
    for (const float value : values) {
      mean += value / static_cast<double>(values.size());
      square += double{value} * double{value} / static_cast<double>(values.size());
      most = std::max(most, std::abs(double{value}));
    }
    return std::array{mean, std::sqrt(square), most};
  };
  constexpr double many = 20000;
  const auto check = [&](const Tensor& x, double deviation, double bound) {
    const auto [mean, spread, most] = moments(x);
    EXPECT_NEAR(mean, 0, 5 * deviation / std::sqrt(many));
    EXPECT_NEAR(spread, deviation, 0.03 * deviation);
    EXPECT_LE(most, bound);
    EXPECT_GT(most, 0.99 * std::min(bound, 3 * deviation));
  };
  const Shape shape{200, 100};
  const double infinity = std::numeric_limits<double>::infinity();
  const double xavier = std::sqrt(6.0 / 300);
  check(init.xavier_uniform(shape, 100, 200), xavier / std::sqrt(3.0), xavier * 1.000001);
  check(init.kaiming_normal(shape, 50), 0.2, infinity);
  check(init.fan_in_uniform(shape, 25), 0.2 / std::sqrt(3.0), 0.2000001);
  check(init.normal(shape, 0, 2), 2, infinity);
  // Cut at two deviations: less spread, and nothing beyond.
  check(init.truncated_normal(shape, 1) * 1.0, 0.8796, 2.000001);
  EXPECT_NE(init.kaiming_normal({3}, 1).to_vector(), init.kaiming_normal({3}, 1).to_vector());
}

}  // namespace
}  // namespace weft
