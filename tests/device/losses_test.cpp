// Losses and norms of images, against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor floats(const Shape& shape, const Floats& values) {
  return api_device().tensor(shape, values);
}

void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance = 1e-5) {
  const Floats values = got.to(DType::f32).to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

TEST(DeviceLosses, Distances) {
  const Tensor x = floats({2, 2}, {1, 2, 3, -4});
  const Tensor t = floats({2}, {0, 2.5});
  expect_near(mse_loss(x, t), {(1 + 0.25 + 9 + 42.25) / 4});
  expect_near(mse_loss(x, t, Reduction::none), {1, 0.25, 9, 42.25});
  expect_near(l1_loss(x, t, Reduction::sum), {1 + 0.5 + 3 + 6.5});
  expect_near(huber_loss(x, t, 2, Reduction::none), {0.5, 0.125, 4, 11});
  expect_near(smooth_l1_loss(x, t, 2, Reduction::none), {0.25, 0.0625, 2, 5.5});
  expect_near(hinge_loss(x, floats({2}, {1, -1}), Reduction::none), {0, 3, 0, 0});
  EXPECT_EQ(mse_loss(x.to(DType::f16), t).dtype(), DType::f16);
  EXPECT_TRUE(message_of([&] {
                (void)huber_loss(x, t, 0);
              }).starts_with("huber_loss needs a delta above 0; it is 0. (huber_loss at "));
  EXPECT_TRUE(message_of([&] {
                (void)l1_loss(x, floats({3}, {1, 2, 3}));
              }).starts_with("l1_loss needs shapes that broadcast; they are f32[2,2] and f32[3]."));
  EXPECT_TRUE(message_of([&] {
                (void)mse_loss(x, {});
              }).starts_with("mse_loss was given no tensor as its target."));
}

TEST(DeviceLosses, BinaryCrossEntropies) {
  const Tensor t = floats({4}, {1, 0, 0.25, 1});
  const Tensor p = floats({4}, {0.9F, 0.2F, 0.5F, 0});
  expect_near(binary_cross_entropy(p, t, Reduction::none),
              {-std::log(0.9), -std::log(0.8), std::log(2.0), 100});
  const Tensor x = floats({4}, {-200, 300, 0.5, 2});
  const auto plus = [](double v) { return std::log1p(std::exp(v)); };
  expect_near(binary_cross_entropy_with_logits(x, t, {.reduction = Reduction::none}),
              {200, 300, plus(0.5) - 0.125, plus(2) - 2});
  expect_near(binary_cross_entropy_with_logits(
                  x, t, {.pos_weight = floats({}, {3}), .reduction = Reduction::none}),
              {600, 300, 0.75 * plus(0.5) + 0.75 * plus(-0.5), 3 * plus(-2)});
  // A probability of exactly 0 or 1 gives no NaN on the way back.
  const Tensor ends = variable(floats({4}, {0, 1, 0, 1}));
  for (const float slope :
       grad(binary_cross_entropy(ends, floats({4}, {0, 1, 1, 0})), {ends})[0].to_vector()) {
    EXPECT_TRUE(std::isfinite(slope)) << slope;
  }
}

TEST(DeviceLosses, LabelsAndDistributions) {
  const Tensor x = log_softmax(floats({3, 2}, {0, 1, 2, 0, 5, 5}));
  const Tensor labels = api_device().tensor({3}, std::vector<std::int32_t>{1, 0, -1});
  const double first = std::log1p(std::exp(-1.0));
  const double second = std::log1p(std::exp(-2.0));
  expect_near(nll_loss(x, labels), {(first + second) / 2});
  expect_near(nll_loss(x, labels, {.reduction = Reduction::none}), {first, second, 0});
  expect_near(nll_loss(x, labels, {.weight = floats({2}, {3, 1})}), {(first + 3 * second) / 4});
  expect_near(nll_loss(x, labels, {.ignored = 1, .reduction = Reduction::sum}), {second});
  const Tensor beyond = api_device().tensor({3}, std::vector<std::int32_t>{1, 0, 7});
  expect_near(nll_loss(x, beyond), {(first + second) / 2});
  EXPECT_TRUE(message_of([&] {
                (void)nll_loss(x, floats({3}, {0, 0, 0}));
              }).starts_with("nll_loss needs floats […, classes] and whole numbers as labels […]"));
  // Labels are of any type of whole numbers.
  for (const DType type : {DType::i64, DType::i8, DType::i16}) {
    expect_near(nll_loss(x, labels.to(type)), {(first + second) / 2});
    expect_near(cross_entropy(x, labels.to(type)), {(first + second) / 2});
  }
  for (const DType type : {DType::u8, DType::u32}) {
    expect_near(cross_entropy(x, (labels * labels).to(type)),
                {(first + second + std::log(2.0)) / 3});
  }
  const Tensor target = floats({2, 2}, {0.5, 0.5, 1, 0});
  const Tensor logs = log(floats({2, 2}, {0.25, 0.75, 0.5, 0.5}));
  expect_near(kl_div(logs, target, {.reduction = Reduction::none}),
              {0.5 * std::log(2.0), 0.5 * std::log(0.5 / 0.75), std::log(2.0), 0});
  expect_near(kl_div(logs, logs, {.log_target = true}), {0});
}

TEST(DeviceLosses, SafeModeNamesALabelThatIsNoClass) {
  const Device safe(DeviceChoice{.safe = true});
  const Tensor x = safe.full({2, 3}, 1);
  const Tensor labels = safe.tensor({2}, std::vector<std::int32_t>{0, 3});
  const std::string message = message_of([&] { (void)nll_loss(x, labels); });
  EXPECT_TRUE(
      message.starts_with("Label 3, element 1 of 2 in shape [2], is not below the number of "
                          "classes, 3. (nll_loss at "))
      << message;
  EXPECT_TRUE(message_of([&] { (void)cross_entropy(x, labels); }).contains("(cross_entropy at "));
}

TEST(DeviceLosses, LabelsCanBeSmoothed) {
  const Tensor x = floats({3, 2}, {0, 1, 2, 0, 5, 3});
  const Tensor labels = api_device().tensor({3}, std::vector<std::int32_t>{1, 0, -1});
  // log(Σ exp) of each row, less 0.9 of the label and 0.1 of the mean.
  const double first = 1 + std::log1p(std::exp(-1.0)) - 0.9 - 0.05;
  const double second = 2 + std::log1p(std::exp(-2.0)) - 1.8 - 0.1;
  expect_near(cross_entropy(x, labels, {.label_smoothing = 0.1}), {(first + second) / 2});
  expect_near(cross_entropy(x, labels, {.reduction = Reduction::none, .label_smoothing = 0.1}),
              {first, second, 0});
  expect_near(cross_entropy(x, labels, {.label_smoothing = 0}), {cross_entropy(x, labels).item()});
  const Tensor shares = floats({3, 2}, {0, 1, 1, 0, 0.5, 0.5});
  const double third = 5 + std::log1p(std::exp(-2.0)) - 4;
  expect_near(cross_entropy(x, shares, {.reduction = Reduction::sum, .label_smoothing = 0.1}),
              {first + second + third});
  EXPECT_TRUE(message_of([&] {
                (void)cross_entropy(x, labels, {.label_smoothing = 2});
              }).starts_with("cross_entropy needs a label_smoothing from 0 to 1; it is 2."));
}

TEST(DeviceLosses, Cosines) {
  const Tensor a = floats({3, 2}, {1, 0, 3, 4, 0, 0});
  const Tensor b = floats({2}, {0, 2});
  expect_near(cosine_similarity(a, b), {0, 0.8, 0});
  expect_near(cosine_similarity(a.transpose(), b.reshape({2, 1}), 0), {0, 0.8, 0});
  expect_near(cosine_embedding_loss(a, b, floats({3}, {1, -1, -1}), 0.5, Reduction::none),
              {1, 0.3, 0});
}

TEST(DeviceNorms, BatchNormInTrainingAndAfter) {
  const Tensor x = random::normal(random::key(api_device(), 3), {5, 3, 7}, {.mean = 2, .std = 3});
  const Tensor weight = floats({3}, {1, 2, 3});
  const Tensor bias = floats({3}, {0, -1, 1});
  const Tensor old_mean = floats({3}, {1, 1, 1});
  const Tensor old_var = floats({3}, {2, 2, 2});
  const Floats values = x.to_vector();
  std::vector<double> mean(3);
  std::vector<double> variance(3);
  const auto at = [&](std::size_t n, std::size_t c, std::size_t i) {
    return double{values[(n * 3 + c) * 7 + i]};
  };
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < 35; ++k) mean[c] += at(k / 7, c, k % 7) / 35;
    for (std::size_t k = 0; k < 35; ++k)
      variance[c] += std::pow(at(k / 7, c, k % 7) - mean[c], 2) / 35;
  }
  std::vector<double> expected;
  std::vector<double> later;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::size_t c = k / 7 % 3;
    const double w = static_cast<double>(c) + 1;
    const double add = c == 0 ? 0 : c == 1 ? -1 : 1;
    expected.push_back((values[k] - mean[c]) / std::sqrt(variance[c] + 1e-5) * w + add);
    later.push_back((values[k] - 1) / std::sqrt(2 + 1e-5) * w + add);
  }
  const BatchNorm step = batch_norm(x, old_mean, old_var, weight, bias, {.training = true});
  expect_near(step.y, expected);
  expect_near(step.running_mean, {0.9 + 0.1 * mean[0], 0.9 + 0.1 * mean[1], 0.9 + 0.1 * mean[2]});
  const double sample = 0.1 * 35 / 34;
  expect_near(step.running_var,
              {1.8 + sample * variance[0], 1.8 + sample * variance[1], 1.8 + sample * variance[2]});
  const BatchNorm done = batch_norm(x, old_mean, old_var, weight, bias);
  expect_near(done.y, later);
  EXPECT_EQ(done.running_mean.to_vector(), old_mean.to_vector());
  EXPECT_EQ(batch_norm(x.to(DType::f16), old_mean, old_var).y.dtype(), DType::f16);
  EXPECT_TRUE(
      message_of([&] {
        (void)batch_norm(x, {}, {});
      }).starts_with("batch_norm was given no tensor as its running mean. (batch_norm at "));
  EXPECT_TRUE(message_of([&] {
                (void)batch_norm(x, old_mean, old_var, floats({2}, {1, 1}));
              }).starts_with("batch_norm of f32[5,3,7] needs [channels] as running numbers"));
}

TEST(DeviceNorms, InstanceNormIsOverEachImage) {
  const Tensor x = random::normal(random::key(api_device(), 4), {2, 3, 4, 5}, {.mean = -1});
  const Tensor rows = x.reshape({6, 20});
  const Tensor center = mean(rows, {1}, true);
  const Tensor plain = (rows - center) * rsqrt(var(rows, {1}, {.keep_dims = true}) + 1e-5);
  EXPECT_TRUE(allclose(instance_norm(x), plain.reshape(x.shape()), 1e-4, 1e-5));
  EXPECT_TRUE(message_of([&] {
                (void)instance_norm(rows);
              }).starts_with("instance_norm needs floats [batch, channels, …] with at least one"));
}

}  // namespace
}  // namespace weft::test
