// Expressions that are computed again and again: their plans are found, not made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "graph/node.hpp"
#include "graph/plan_cache.hpp"
#include "shared.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

graph::PlanCache::Counts counts(const Device& device) {
  const auto& plans = Access::data(device)->plans;
  return plans ? plans->counts() : graph::PlanCache::Counts{};
}

using Numbers = std::vector<float>;

TEST(DeviceEager, TheSameExpressionOfOtherTensorsFindsItsPlan) {
  const Device device;
  const auto compute = [&](const Numbers& a, const Numbers& b) {
    const Tensor x = device.tensor({3}, a);
    const Tensor y = device.tensor({3}, b);
    const Tensor z = sqrt(x * x + y * 4);  // what is between has no handle any more
    return z.to_vector();
  };
  EXPECT_EQ(compute({0, 3, 1}, {1, 4, 2}), (Numbers{2, 5, 3}));
  const auto before = counts(device);
  EXPECT_EQ(compute({3, 0, 1}, {4, 9, 0}), (Numbers{5, 6, 1}));
  EXPECT_EQ(counts(device).made, before.made);
  EXPECT_EQ(counts(device).found, before.found + 1);
  EXPECT_EQ(counts(device).launches, before.launches + 1) << "a chain is one launch";
}

TEST(DeviceEager, PlansAreForgottenWhenThereAreTooMany) {
  const Device device;
  const auto compute = [&](std::uint64_t length) {
    return sum(device.full({length}, 2) * 3).item();
  };
  EXPECT_EQ(compute(4), 24);
  graph::PlanCache& plans = *Access::data(device)->plans;
  const std::size_t each = plans.kept_launches();
  ASSERT_GT(each, 0U);
  plans.set_most_launches(4 * each);
  std::size_t most = 0;
  for (std::uint64_t length = 5; length < 25; ++length) {
    EXPECT_EQ(compute(length), 6 * static_cast<float>(length));
    most = std::max(most, plans.kept_launches());
  }
  EXPECT_LE(most, 6 * each);  // one plan more than the bound, each of about as many launches
  const std::size_t made = counts(device).made;
  EXPECT_EQ(compute(24), 144);
  EXPECT_EQ(counts(device).made, made) << "the last one is still there";
  EXPECT_EQ(compute(4), 24);
  EXPECT_EQ(counts(device).made, made + 1) << "the first one was forgotten, and is made again";
}

TEST(DeviceEager, WhatIsDifferentHasAPlanOfItsOwn) {
  const Device device;
  const Tensor x = device.tensor({4}, Numbers{1, 2, 3, 4});
  const Tensor y = device.tensor({4}, Numbers{10, 20, 30, 40});
  EXPECT_EQ((x + y).to_vector(), (Numbers{11, 22, 33, 44}));
  EXPECT_EQ((x + x).to_vector(), (Numbers{2, 4, 6, 8})) << "the same buffer twice";
  EXPECT_EQ((x - y).to_vector(), (Numbers{-9, -18, -27, -36})) << "another function";
  EXPECT_EQ((x * 2).to_vector(), (Numbers{2, 4, 6, 8}));
  EXPECT_EQ((x * 3).to_vector(), (Numbers{3, 6, 9, 12})) << "another scalar";
  const Tensor first = x.slice(0, 0, 2);
  const Tensor last = x.slice(0, 2, 2);
  EXPECT_EQ((first + 1).to_vector(), (Numbers{2, 3}));
  EXPECT_EQ((last + 1).to_vector(), (Numbers{4, 5})) << "another place in the buffer";
  EXPECT_EQ((x.slice(0, 0, 2, 2) + 1).to_vector(), (Numbers{2, 4})) << "another stride";
  EXPECT_EQ(sum(x.reshape({2, 2}), {0}).to_vector(), (Numbers{4, 6}));
  EXPECT_EQ(sum(x.reshape({2, 2}), {1}).to_vector(), (Numbers{3, 7})) << "another axis";
}

TEST(DeviceEager, AGradientThatWasForgottenIsAnError) {
  const Device device;
  const Tensor x = device.tensor({2}, Numbers{1, 2});
  const Tensor other = device.tensor({2}, Numbers{3, 4});
  const Tensor h = x * x;
  const Tensor loss = sum(h * other);
  EXPECT_EQ(grad(loss, {x})[0].to_vector(), (Numbers{6, 16}));
  EXPECT_EQ(loss.item(), 19);
  for (const Tensor& by : {x, h, other}) {
    try {
      (void)grad(loss, {by});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find("was computed already"), std::string_view::npos)
          << error.what();
    }
  }
  EXPECT_THROW((void)grad(sum(x * h), {x}), Error) << "one of two ways is lost";
  // What does not depend on it is no obstacle, nor are questions and what was detached.
  const Tensor mask = greater(x, other);
  const Tensor apart = x.detach() * 3;
  (void)mask.to_vector<std::uint8_t>();
  (void)apart.to_vector();
  EXPECT_EQ(grad(sum(where(mask, x, x * apart) * other), {x})[0].to_vector(), (Numbers{9, 24}));
  EXPECT_EQ(grad(sum(h * x), {other})[0].to_vector(), (Numbers{0, 0}));
  // A variable's history stays.
  const Tensor w = variable(x);
  const Tensor kept = sum(w * w);
  EXPECT_EQ(kept.item(), 5);
  EXPECT_EQ(grad(kept, {w})[0].to_vector(), (Numbers{2, 4}));
  // A chain of steps does not keep what came before.
  Tensor step = x;
  for (int i = 0; i < 100; ++i) {
    step = step * 0.5 + other;
    step.eval();
  }
  EXPECT_THROW((void)grad(sum(step), {other}), Error);
}

TEST(DeviceEager, TensorsWithHandlesStayApart) {
  const Device device;
  const Tensor x = device.tensor({2}, Numbers{1, 2});
  const Tensor a = exp(x);
  const Tensor b = exp(x);
  const Tensor c = a + b;
  c.eval();
  const Kernel zero = device.kernel({.wgsl = R"(
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(2) fn main(@builtin(local_invocation_index) i: u32) { x[i] = 0; })",
                                     .writes = {true}});
  zero.run(std::vector{a}, {1, 1, 1});
  EXPECT_EQ(a.to_vector(), (Numbers{0, 0}));
  EXPECT_NEAR(b.to_vector()[1], 7.389056F, 1e-5F);
}

struct Trained {
  std::vector<float> weights;
  std::size_t launches = 0;  // of the last step
  std::size_t made = 0;
};

/// Gradient descent on a line, with the loss read before, after or never.
Trained train(bool read_before, bool read_after) {
  const Device device;
  const Tensor w = variable(device.tensor({2, 1}, Numbers{0, 0}));
  const Tensor x = device.tensor({3, 2}, Numbers{1, 1, 2, 1, 3, 1});
  const Tensor y = device.tensor({3, 1}, Numbers{3, 5, 7});
  Trained out;
  for (int step = 0; step < 6; ++step) {
    const auto before = counts(device);
    const Tensor loss = mean(square(matmul(x, w) - y));
    const Tensor slope = grad(loss, {w})[0];
    if (read_before) (void)loss.item();
    apply({{w, w - slope * 0.05}});
    if (read_after) (void)loss.item();
    out.launches = counts(device).launches - before.launches;
    out.made = counts(device).made - before.made;
  }
  out.weights = w.to_vector();
  return out;
}

TEST(DeviceEager, ALoopPlansOnceAndComputesWhatItNeeds) {
  const Trained silent = train(false, false);
  const Trained after = train(false, true);
  const Trained before = train(true, true);
  EXPECT_EQ(silent.made, 0U);
  EXPECT_EQ(after.made, 0U);
  EXPECT_EQ(before.made, 0U);
  // The loss is computed with the weights that it was written with, so together with the update.
  EXPECT_LE(after.launches, silent.launches + 1);
  EXPECT_EQ(silent.weights, after.weights);
  EXPECT_EQ(silent.weights, before.weights);
  EXPECT_NEAR(silent.weights[0], 2, 0.5);
}

TEST(DeviceEager, PlansRunOnWhateverBuffersThereAre) {
  const Device device;
  const Tensor x = device.arange(24, -1, 0.1).reshape({6, 4});
  const Tensor w = variable(device.arange(4, 0.5, 0.25).reshape({4, 1}));
  const auto step = [&](const Tensor& weights) { return tanh(matmul(x, weights)) * 2 + 1; };
  std::vector<Tensor> held;  // so that results lie elsewhere each time, as do the variable's values
  std::vector<Numbers> expected;
  Numbers values = w.to_vector();
  for (int i = 0; i < 12; ++i) {
    held.push_back(step(w));
    held.back().eval();
    if (i % 3 == 2) held[static_cast<std::size_t>(i) - 2] = Tensor();  // and places come back
    Numbers row;
    for (int r = 0; r < 6; ++r) {
      double sum = 0;
      for (int k = 0; k < 4; ++k)
        sum += (-1 + 0.1 * (4 * r + k)) * values[static_cast<std::size_t>(k)];
      row.push_back(static_cast<float>(std::tanh(sum) * 2 + 1));
    }
    expected.push_back(row);
    apply({{w, w * 0.9}});
    for (float& value : values) value *= 0.9F;
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!held[i]) continue;
    const Numbers got = held[i].to_vector();
    for (std::size_t r = 0; r < got.size(); ++r) EXPECT_NEAR(got[r], expected[i][r], 1e-5) << i;
  }
  EXPECT_LE(counts(device).made, 8U);
}

TEST(DeviceEager, HandlesKeepTheirOldValuesAndHistoryIsLetGo) {
  const Device device;
  const Tensor w = variable(device.tensor({2}, Numbers{1, 2}));
  const Tensor held = exp(w * 2) + 1;
  const Tensor loss = sum(square(held * w));
  const float old_loss = loss.item();
  apply({{w, w * 0}});
  EXPECT_NEAR(held.to_vector()[0], 8.389056F, 1e-5F);
  EXPECT_EQ(loss.item(), old_loss);
  EXPECT_EQ(w.to_vector(), (Numbers{0, 0}));
  try {
    (void)grad(loss, {w});
    ADD_FAILURE() << "a gradient of what was let go";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("has no history any more"),
              std::string_view::npos)
        << error.what();
  }
  // As a constant it is as good as any other tensor.
  const Tensor again = sum(w * loss.detach());
  EXPECT_NEAR(grad(again, {w})[0].to_vector()[0], old_loss, 1e-3F);
}

}  // namespace
}  // namespace weft
