// Tensors, variables and compiled functions that several threads share.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

constexpr int threads = 4;
constexpr int rounds = 6;

/// Runs the same function in several threads; what it returns is a problem, or empty.
void in_threads(const std::function<std::string(int)>& work) {
  std::vector<std::string> problems(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      try {
        problems[static_cast<std::size_t>(i)] = work(i);
      } catch (const std::exception& error) {
        problems[static_cast<std::size_t>(i)] = error.what();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

TEST(DeviceGraphThread, SharedExpressionsAreComputedByWhoAsksFirst) {
  const Device& device = api_device();
  for (int round = 0; round < rounds; ++round) {
    const Tensor x = device.arange(64, 1);
    const Tensor w = variable(device.full({64}, 0.5));
    Tensor shared = x * w;
    const Tensor top = exp(shared * 0.01) + shared;
    in_threads([&](int thread) -> std::string {
      // Each thread makes, evaluates and drops expressions over the same nodes, and walks them for
      // derivatives.
      const Tensor mine = sum(top * static_cast<double>(thread + 1));
      const Tensor slope = grad(mine, {w})[0];
      const float got = thread % 2 == 0 ? mine.item() : mine.to_vector()[0];
      double expected = 0;
      for (int i = 1; i <= 64; ++i) expected += std::exp(i * 0.005) + i * 0.5;
      if (std::abs(got - expected * (thread + 1)) > 0.01 * expected) return "a wrong sum";
      const double first = (std::exp(0.005) * 0.01 + 1) * (thread + 1);
      if (std::abs(slope.to_vector()[0] - first) > 1e-4 * first) return "a wrong derivative";
      return "";
    });
    shared = Tensor();  // `top` keeps what it was made from, or its values
    EXPECT_NEAR(top.to_vector()[1], std::exp(0.01) + 1, 1e-4);
  }
}

TEST(DeviceGraphThread, UpdatesOfAVariableAreNeverSeenInHalf) {
  const Device& device = api_device();
  const Tensor w = variable(device.full({4096}, 0));
  const Compiled step = compile(
      [w](const std::vector<Tensor>& in) -> Outputs { return {{sum(w)}, {{w, w + in[0]}}}; });
  const Tensor one = device.full({1}, 1);
  std::atomic<int> steps = 0;
  in_threads([&](int thread) -> std::string {
    for (int round = 0; round < rounds; ++round) {
      if (thread < 2) {  // two threads learn, two look
        (void)step({one});
        ++steps;
        (void)step.report();
        continue;
      }
      const std::vector<float> seen = thread == 2 ? w.to_vector() : (w * 2).to_vector();
      for (const float value : seen) {
        if (value != seen.front()) return "an update was seen in half";
      }
    }
    return "";
  });
  EXPECT_EQ(w.to_vector()[17], static_cast<float>(steps.load()));
}

TEST(DeviceGraphThread, ACompiledFunctionServesManyThreads) {
  const Device& device = api_device();
  const Compiled f =
      compile([](const std::vector<Tensor>& in) -> Outputs { return softmax(in[0] * 2) + 1; },
              {.most_variants = 2});  // more shapes than that are asked for at once
  in_threads([&](int thread) -> std::string {
    const auto count = static_cast<std::uint64_t>(8 + thread);
    for (int round = 0; round < rounds; ++round) {
      const std::vector<float> y = f({device.full({count}, round)})[0].to_vector();
      if (y.size() != count || std::abs(y[0] - 1 - 1.0F / static_cast<float>(count)) > 1e-5F) {
        return "a wrong softmax";
      }
    }
    return "";
  });
  EXPECT_LE(f.report().variants, 2U);
}

}  // namespace
}  // namespace weft::test
