#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gpu/fault.hpp"
#include "gpu/lifetime.hpp"
#include "graph/node.hpp"
#include "scenarios.hpp"

// Threads that do different things with one device while yet another thread takes it away, again
// and again: every result is right, every error says that the device was lost, and nothing waits.

namespace weft::test {
namespace {

using Floats = std::vector<float>;

Floats ramp(std::size_t count) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.125F * static_cast<float>(i % 29) - 1.5F;
  return values;
}

std::uint64_t identity_of(const Device& device) {
  DeviceData& data = *Access::data(device);
  const std::lock_guard lock(data.mutex);
  return gpu::identity(data.device);
}

class FaultMixedThreads : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    gpu::set_faults({});
    std::filesystem::create_directories(folder);
    save(folder / "x.gguf", {.tensors = {{"x", device.tensor({40, 8}, ramp(320))}}, .texts = {}});
    keep(weights);
    keep(learned);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Floats infer() { return model.one({device.tensor({4, 24}, ramp(96))}).to_vector(); }
  Floats learn() {
    // Another thread's recover() gives the variable the values that it was kept with.
    for (;;) {
      const std::uint64_t before = identity_of(device);
      apply({{learned, device.full({6}, 1)}});
      for (int i = 0; i < 3; ++i) {
        const Tensor slope = grad(sum(tanh(learned) * learned), {learned})[0];
        apply({{learned, learned - slope * 0.25}});
      }
      Floats values = learned.to_vector();
      if (identity_of(device) == before) return values;
    }
  }
  Floats transfer() {
    Upload up = upload(device, DType::f32, {20'000}, std::as_bytes(std::span(large)));
    const Tensor x = up.get();
    return sum(x.reshape({200, 100}), {0}).to_vector();
  }
  Floats read_file() { return (load(device, folder / "x.gguf").tensors.at("x") * 2).to_vector(); }
  Floats compile_anew() {
    const Compiled fresh = compile([this](const std::vector<Tensor>& in) -> Outputs {
      return softmax(matmul(in[0], weights) + 1);
    });
    return fresh.one({device.tensor({2, 24}, ramp(48))}).to_vector();
  }

  Device device;
  Tensor weights = device.tensor({24, 16}, ramp(384));
  Tensor learned = variable(device.full({6}, 1));
  Floats large = ramp(20'000);
  Compiled model = compile(
      [this](const std::vector<Tensor>& in) -> Outputs { return gelu(matmul(in[0], weights)); });
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-mixed-" + std::to_string(::getpid()));
};

TEST_P(FaultMixedThreads, EveryResultIsRightWhoeverLosesTheDevice) {
  const bool automatic = GetParam();
  const std::vector<std::function<Floats()>> kinds{
      [this] { return infer(); }, [this] { return learn(); }, [this] { return transfer(); },
      [this] { return read_file(); }, [this] { return compile_anew(); }};
  std::vector<Floats> expected;
  for (const auto& kind : kinds) expected.push_back(kind());
  if (automatic) recover_automatically(device);

  const int losses = full() ? 200 : 12;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> right = 0;
  std::atomic<std::uint64_t> lost = 0;
  std::vector<std::jthread> workers;
  std::vector<std::string> wrong(kinds.size());
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    workers.emplace_back([&, k] {
      while (!stop && wrong[k].empty()) {
        try {
          if (kinds[k]() != expected[k]) wrong[k] = "another result";
          ++right;
        } catch (const Error& error) {
          ++lost;
          if (error.code() != ErrorCode::device_lost) wrong[k] = error.what();
          try {
            if (!automatic) recover(device);
          } catch (const Error& again) {
            if (again.code() != ErrorCode::device_lost) wrong[k] = again.what();
          }
        }
      }
    });
  }
  std::mt19937 random(5);
  for (int i = 0; i < losses; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 80));
    DeviceData& data = *Access::data(device);
    gpu::Device now = [&data] {
      const std::lock_guard lock(data.mutex);
      return data.device;
    }();
    EXPECT_TRUE(now.lose_for_test("another thread took it away"));
  }
  stop = true;
  workers.clear();
  for (std::size_t k = 0; k < kinds.size(); ++k) EXPECT_EQ(wrong[k], "") << "of work " << k;
  if (is_lost(device)) recover(device);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    Floats got;
    for (int i = 0; i < 3 && got.empty(); ++i) {
      try {
        got = kinds[k]();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
        recover(device);
      }
    }
    EXPECT_EQ(got, expected[k]) << "in the end, of work " << k;
  }
  std::printf("  %d losses: %llu right results, %llu errors\n", losses,
              static_cast<unsigned long long>(right), static_cast<unsigned long long>(lost));
  EXPECT_GT(right, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, FaultMixedThreads, testing::Bool(), [](const auto& automatic) {
  return std::string(automatic.param ? "recovered_automatically" : "recovered_by_hand");
});

}  // namespace
}  // namespace weft::test
