#include <algorithm>
#include <chrono>
#include <cstdio>

#include "device_fixture.hpp"

// The host's time for a replayed dispatch. The bar (2 µs) holds for real GPUs; here the number is
// printed and only a gross slip fails.

namespace weft::test {
namespace {

TEST(DeviceReplayCost, OfTinyDispatches) {
  gpu::Device& on = device();
  gpu::KernelDesc desc;
  desc.label = "tiny";
  desc.wgsl = R"(
struct Params { value: u32 }
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(1)
fn main() { output[0] = input[0] + params.value; }
)";
  desc.bindings = {gpu::Access::read, gpu::Access::write};
  desc.params_bytes = 4;
  const auto kernel = on.compile(desc);
  ASSERT_TRUE(ok(kernel));
  const gpu::Buffer a = upload(on, std::vector<std::uint32_t>(4));
  const gpu::Buffer b = upload(on, std::vector<std::uint32_t>(4));
  gpu::Stream stream = on.stream();
  ASSERT_TRUE(ok(stream.begin_recording()));
  constexpr std::uint32_t count = 4000;
  for (std::uint32_t i = 0; i < count; ++i) {
    const gpu::Slice slices[] = {gpu::whole(i % 2 == 0 ? a : b), gpu::whole(i % 2 == 0 ? b : a)};
    const std::uint32_t one = 1;
    ASSERT_TRUE(ok(stream.dispatch(*kernel, slices, std::as_bytes(std::span(&one, 1)), {})));
  }
  const auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(ok(on.synchronize()));
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(ok(stream.replay(*recording)));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  const auto gpu_seconds = stream.time_replay(*recording);
  ASSERT_TRUE(ok(gpu_seconds));
  std::printf("%u dispatches: host %.3f us each, device %.3f us each\n", count, best / count * 1e6,
              *gpu_seconds / count * 1e6);
  EXPECT_LT(best / count, 100e-6);
  EXPECT_EQ(download<std::uint32_t>(on, a)[0], 6 * count);
}

}  // namespace
}  // namespace weft::test
