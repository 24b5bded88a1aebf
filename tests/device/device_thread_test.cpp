#include <algorithm>
#include <atomic>
#include <thread>

#include "base/format.hpp"
#include "device_fixture.hpp"

// Several threads on one device, and several devices at once.

namespace weft::test {
namespace {

using gpu::Device;
using gpu::Slice;
using gpu::whole;

gpu::KernelDesc add_kernel(std::uint32_t variant) {
  gpu::KernelDesc desc;
  desc.label = formatted("add {}", variant);
  desc.wgsl = formatted(R"(
// variant {}
struct Params {{ count: u32, add: u32 }}
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {{
  if (id.x < params.count) {{ data[id.x] += params.add + {}u; }}
}}
)",
                        variant, variant);
  desc.bindings = {gpu::Access::write};
  desc.params_bytes = 8;
  return desc;
}

/// What one thread does; any error is returned, because gtest's checks belong to the main thread.
Status work(Device on, std::uint32_t thread) {
  gpu::Stream stream = on.stream();
  for (std::uint32_t round = 0; round < 12; ++round) {
    const std::uint32_t variant = round % 4;  // The same kernels as the other threads.
    const Result<gpu::Kernel> kernel = on.compile(add_kernel(variant));
    if (!kernel) return std::unexpected(kernel.error());
    const std::uint32_t count = 100 + 17 * thread + round;
    std::vector<std::uint32_t> values(count, thread);
    const Result<gpu::Buffer> buffer = on.allocate(std::uint64_t{count} * 4);
    if (!buffer) return std::unexpected(buffer.error());
    if (Status s = on.write(whole(*buffer), bytes_of(values)); !s) return s;
    const Slice slice = whole(*buffer);
    for (std::uint32_t i = 0; i < 10; ++i) {
      const std::uint32_t params[2] = {count, round};
      const auto bytes = std::as_bytes(std::span(params));
      if (Status s = stream.dispatch(*kernel, std::span(&slice, 1), bytes, {16, 1, 1}); !s)
        return s;
    }
    if (Status s = stream.fill({*buffer, 1, 1}, 0xFF); !s) return s;
    if (Status s = stream.submit(); !s) return s;
    if (Status s = on.read(whole(*buffer), std::as_writable_bytes(std::span(values))); !s) return s;
    const std::uint32_t expected = thread + 10 * (round + variant);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t wanted = i == 0 ? (expected | 0xFF00) : expected;
      if (values[i] != wanted) {
        return fail(ErrorCode::internal, "thread {} round {}: value {} is {}, not {}", thread,
                    round, i, values[i], wanted);
      }
    }
    // A wrong shader in one thread must not show up in another.
    gpu::KernelDesc wrong;
    wrong.label = formatted("wrong {}", thread);
    wrong.wgsl = "fn main( {";
    const Result<gpu::Kernel> refused = on.compile(wrong);
    if (refused) return fail(ErrorCode::internal, "a wrong shader was accepted");
    if (refused.error().code != ErrorCode::shader) return std::unexpected(refused.error());
  }
  return stream.wait();
}

void run_threads(const std::vector<Device>& devices, std::uint32_t threads) {
  std::vector<Status> results(threads);
  std::vector<std::thread> running;
  for (std::uint32_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { results[i] = work(devices[i % devices.size()], i); });
  }
  for (std::thread& thread : running) thread.join();
  for (const Status& result : results) EXPECT_TRUE(ok(result));
}

TEST(DeviceThread, ManyThreadsOnOneDevice) {
  const auto before = device().cache().compiled;
  run_threads({device()}, 6);
  EXPECT_LE(device().cache().compiled, before + 4 + 2) << "threads must share what they compile";
  EXPECT_TRUE(ok(device().poll()));
}

TEST(DeviceThread, TwoDevicesAtOnce) {
  auto first = Device::create();
  auto second = Device::create();
  ASSERT_TRUE(ok(first));
  ASSERT_TRUE(ok(second));
  run_threads({*first, *second}, 4);
  const gpu::Buffer buffer = upload(*first, std::vector<std::uint32_t>(8, 1));
  EXPECT_TRUE(fails(second->fill(whole(buffer), 0), ErrorCode::invalid_argument, "another device"));
  const auto kernel = first->compile(add_kernel(0));
  ASSERT_TRUE(ok(kernel));
  const gpu::Buffer there = upload(*second, std::vector<std::uint32_t>(8, 1));
  gpu::Stream stream = second->stream();
  const Slice slice = whole(there);
  const std::uint32_t params[2] = {8, 1};
  EXPECT_TRUE(
      fails(stream.dispatch(*kernel, std::span(&slice, 1), std::as_bytes(std::span(params)), {}),
            ErrorCode::invalid_argument, "another device"));
}

TEST(DeviceThread, ManyThreadsAskForTheSameKernel) {
  auto on = Device::create({.disk_cache = false});
  ASSERT_TRUE(ok(on));
  std::vector<std::thread> running;
  std::atomic<int> failed{0};
  std::vector<gpu::KernelDesc> descs;
  for (std::uint32_t i = 0; i < 5; ++i) descs.push_back(add_kernel(100 + i));
  for (int t = 0; t < 6; ++t) {
    running.emplace_back([&, t] {
      std::vector<gpu::KernelDesc> mine = descs;
      if (t % 2 == 1) std::ranges::reverse(mine);  // Different orders must not lock each other out.
      if (!on->compile_all(mine)) ++failed;
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(failed.load(), 0);
  EXPECT_EQ(on->cache().compiled, 5U);
  EXPECT_EQ(on->cache().shared, 25U);
}

TEST(DeviceThread, HandlesMayDieInOtherThreadsAndAfterTheDevice) {
  gpu::Buffer buffer;
  {
    auto on = Device::create();
    ASSERT_TRUE(ok(on));
    buffer = upload(*on, std::vector<std::uint32_t>(8, 1));
  }
  std::thread([moved = std::move(buffer)]() mutable { moved = {}; }).join();
}

}  // namespace
}  // namespace weft::test
