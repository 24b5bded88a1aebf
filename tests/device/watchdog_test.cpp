// Work that does not end is an error that names it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <string>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Goes round for so long that nobody waits for it, but not for ever: it cannot be taken off a GPU.
/// The loop depends on memory, so that no compiler works it out.
Kernel endless(const Device& device) {
  return device.kernel({.wgsl = R"(
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
struct P { rounds: u32, a: u32, b: u32, c: u32 }
@group(0) @binding(1) var<uniform> p: P;
@compute @workgroup_size(1) fn main() {
  var x = state[0];
  for (var i = 0u; i < p.rounds; i++) {
    x = x * 1664525u + 1013904223u + (x >> 7u);
    if (x == 0x12345678u) { state[1] = i; }
  }
  state[0] = x;
})",
                        .label = "goes round",
                        .writes = {true},
                        .scalars = 1});
}

/// Rounds that take about so long here.
std::uint32_t rounds_of(double seconds) {
  const Device device;
  const Kernel kernel = endless(device);
  const Tensor state = device.full({2}, 1, DType::u32);
  kernel.run({state}, {1, 1, 1}, {1});
  device.synchronize();  // Compiles.
  for (std::uint32_t rounds = 1U << 16U;; rounds *= 4) {
    const auto start = Clock::now();
    kernel.run({state}, {1, 1, 1}, {rounds});
    device.synchronize();
    const double taken = seconds_since(start);
    if (taken < 0.1 && rounds < (1U << 28U)) continue;
    return static_cast<std::uint32_t>(std::min(seconds / taken * rounds, 4e9));
  }
}

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device_lost);
    return error.what();
  }
  return {};
}

TEST(DeviceWatchdog, NamesTheKernelThatDoesNotEnd) {
  const std::uint32_t rounds = rounds_of(8);
  for (const bool reads : {false, true}) {
    const Device device;
    set_watchdog(device, 0.5);
    const Tensor kept = device.tensor({2}, {1.0F, 2.0F});
    keep(kept);
    const Kernel kernel = endless(device);
    const Tensor state = device.full({2}, 1, DType::u32);
    kernel.run({state}, {1, 1, 1}, {10});
    EXPECT_NE(state.to_vector<std::uint32_t>()[0], 1U) << "short work is let through";
    const auto start = Clock::now();
    kernel.run({state}, {1, 1, 1}, {rounds});
    const std::string said = error_of([&] {
      if (reads) (void)state.to_vector<std::uint32_t>();
      device.synchronize();
    });
    EXPECT_LT(seconds_since(start), 4) << "it waited for the end";
    EXPECT_NE(said.find("The kernel \"goes round\" has been running for"), std::string::npos)
        << said;
    EXPECT_TRUE(is_lost(device));
    recover(device);
    EXPECT_EQ((kept * 2).to_vector(), (std::vector<float>{2, 4}));
  }
}

TEST(DeviceWatchdog, OrdinaryWorkGivesTheSame) {
  const Device device;
  const auto run = [&] {
    const Tensor x = sin(device.arange(4096)).reshape({64, 64});
    const Compiled function = compile(
        [](const std::vector<Tensor>& in) -> Outputs { return softmax(matmul(in[0], in[0])); });
    std::vector<float> all = sum(gelu(x), {0}).to_vector();
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> more = function.one({x}).to_vector();
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  };
  const std::vector<float> expected = run();
  set_watchdog(device, 60);
  EXPECT_EQ(run(), expected);
  set_watchdog(device, 0);
  EXPECT_EQ(run(), expected);
}

TEST(DeviceWatchdog, AProcessThatWasStoppedHasNotComputed) {
  const std::uint32_t rounds = rounds_of(0.3);
  const Device device;
  set_watchdog(device, 2);
  const Kernel kernel = endless(device);
  const Tensor state = device.full({2}, 1, DType::u32);
  kernel.run({state}, {1, 1, 1}, {10});
  device.synchronize();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {  // Stops it for longer than the watchdog allows.
    ::usleep(100'000);
    ::kill(parent, SIGSTOP);
    ::usleep(3'500'000);
    ::kill(parent, SIGCONT);
    ::_exit(0);
  }
  const auto start = Clock::now();
  while (seconds_since(start) < 3) {
    kernel.run({state}, {1, 1, 1}, {rounds});
    device.synchronize();
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_lost(device));
}

TEST(DeviceWatchdog, TakesSecondsFromZeroOn) {
  EXPECT_THROW(set_watchdog(api_device(), -1), Error);
  EXPECT_THROW(set_watchdog(api_device(), std::nan("")), Error);
}

}  // namespace
}  // namespace weft::test
