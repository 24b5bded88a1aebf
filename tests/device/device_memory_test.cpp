#include "device_fixture.hpp"

// The pool, its figures, and running out of memory.

namespace weft::test {
namespace {

using gpu::Buffer;
using gpu::Device;
using gpu::DeviceOptions;
using gpu::whole;

Device fresh(DeviceOptions options = {}) {
  Result<Device> made = Device::create(options);
  EXPECT_TRUE(ok(made));
  return made ? *made : Device{};
}

TEST(DeviceMemory, CountsReusesAndTrims) {
  Device on = fresh();
  ASSERT_TRUE(on);
  EXPECT_EQ(on.memory().in_use, 0U);
  std::uint64_t first_id = 0;
  {
    const auto a = on.allocate(100'000, "a");
    const auto b = on.allocate(5, "b");
    ASSERT_TRUE(ok(a));
    ASSERT_TRUE(ok(b));
    first_id = a->id();
    EXPECT_NE(a->id(), b->id());
    EXPECT_EQ(b->size(), 5U);
    EXPECT_EQ(b->capacity(), 16U);
    EXPECT_GE(on.memory().in_use, 100'005U);
    EXPECT_LE(on.memory().in_use, 130'000U);
    EXPECT_EQ(on.memory().allocations, 2U);
    EXPECT_EQ(on.memory().pooled, 0U);
    Buffer copy;
    copy = *a;
    EXPECT_EQ(copy.id(), a->id());
  }
  const gpu::MemoryStats after = on.memory();
  EXPECT_EQ(after.in_use, 0U);
  EXPECT_EQ(after.pooled, after.peak);
  const auto again = on.allocate(99'500);
  ASSERT_TRUE(ok(again));
  EXPECT_NE(again->id(), first_id) << "a new buffer has a new id even where the memory is the same";
  EXPECT_EQ(on.memory().allocations, 2U);
  EXPECT_EQ(on.memory().reuses, 1U);
  on.trim();
  EXPECT_EQ(on.memory().pooled, 0U);
  const auto third = on.allocate(5);
  ASSERT_TRUE(ok(third));
  EXPECT_EQ(on.memory().allocations, 3U);
  EXPECT_TRUE(ok(on.poll()));
}

TEST(DeviceMemory, PoolStaysUnderItsLimit) {
  DeviceOptions options;
  options.pool_limit = 1 << 20;
  Device on = fresh(options);
  ASSERT_TRUE(on);
  {
    std::vector<Buffer> buffers;
    for (int i = 0; i < 20; ++i) {
      const auto buffer = on.allocate(200'000);
      ASSERT_TRUE(ok(buffer));
      buffers.push_back(*buffer);
    }
    EXPECT_GE(on.memory().in_use, 4'000'000U);
  }
  EXPECT_LE(on.memory().pooled, 1U << 20);
  EXPECT_GT(on.memory().pooled, 0U);
  const auto huge = on.allocate(3 << 20);
  ASSERT_TRUE(ok(huge));
}

TEST(DeviceMemory, BlocksThatWereDroppedLeaveNoBindGroupBehind) {
  DeviceOptions options;
  options.pool_limit = 0;  // Every freed buffer is destroyed at once.
  Device on = fresh(options);
  ASSERT_TRUE(on);
  for (std::uint8_t round = 1; round < 20; ++round) {
    const auto buffer = on.allocate(4001);
    ASSERT_TRUE(ok(buffer));
    ASSERT_TRUE(ok(on.fill({*buffer, 1, 4000}, round)));
    const auto values = download<std::uint8_t>(on, *buffer);
    for (std::size_t i = 1; i < values.size(); ++i) ASSERT_EQ(values[i], round);
  }
  EXPECT_EQ(on.memory().allocations, 19U);
}

TEST(DeviceMemory, TooLargeABufferIsAnErrorWithTheSizes) {
  Device on = fresh({.caps_mask = "buffer=1M"});
  ASSERT_TRUE(on);
  EXPECT_EQ(on.caps().max_buffer, 1U << 20);
  const auto held = on.allocate(4096);
  ASSERT_TRUE(ok(held));
  const auto buffer = on.allocate((1 << 20) + 1, "weights");
  EXPECT_TRUE(fails(buffer, ErrorCode::out_of_memory, "1048577 bytes for weights"));
  EXPECT_TRUE(fails(buffer, ErrorCode::out_of_memory, "1048576"));
  EXPECT_TRUE(fails(buffer, ErrorCode::out_of_memory, "4096 bytes are in use"));
  EXPECT_TRUE(
      fails(on.allocate(~std::uint64_t{0}), ErrorCode::out_of_memory, "18446744073709551615"));
  EXPECT_TRUE(ok(on.allocate(1 << 20)));
  EXPECT_TRUE(ok(on.poll()));
}

TEST(DeviceMemory, DriverOutOfMemoryIsAnErrorAndPassesOver) {
  Device on = fresh();
  ASSERT_TRUE(on);
  {
    const auto pooled = on.allocate(1 << 16);
    ASSERT_TRUE(ok(pooled));
  }
  EXPECT_GT(on.memory().pooled, 0U);
  ASSERT_TRUE(ok(on.fail_allocations_for_test(1)));
  const auto second_try = on.allocate(1 << 20);  // The pool is given up and the driver asked again.
  ASSERT_TRUE(ok(second_try));
  EXPECT_EQ(on.memory().pooled, 0U);
  ASSERT_TRUE(ok(on.fail_allocations_for_test(2)));
  const auto refused = on.allocate(3 << 20, "activations");
  EXPECT_TRUE(fails(refused, ErrorCode::out_of_memory, "3145728 bytes for activations"));
  EXPECT_TRUE(fails(refused, ErrorCode::out_of_memory, "1048576 bytes are in use"));
  EXPECT_TRUE(ok(on.poll())) << "the error was the answer and must not come twice";
  const Buffer works = upload(on, std::vector<std::uint32_t>(100, 7));
  EXPECT_EQ(download<std::uint32_t>(on, works), std::vector<std::uint32_t>(100, 7));
}

TEST(DeviceMemory, TooLargeABindingIsAnErrorWithTheSizes) {
  Device on = fresh({.caps_mask = "binding=64K"});
  ASSERT_TRUE(on);
  gpu::KernelDesc desc;
  desc.label = "touch";
  desc.wgsl =
      "@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n"
      "@compute @workgroup_size(1) fn main() { data[0] = 1u; }\n";
  desc.bindings = {gpu::Access::write};
  const auto kernel = on.compile(desc);
  ASSERT_TRUE(ok(kernel));
  const auto buffer = on.allocate(200'001);
  ASSERT_TRUE(ok(buffer));
  gpu::Stream stream = on.stream();
  const gpu::Slice all = whole(*buffer);
  EXPECT_TRUE(fails(stream.dispatch(*kernel, std::span(&all, 1), {}, {}), ErrorCode::unsupported,
                    "covers 200004 bytes, but this device allows 65536"));
  const gpu::Slice part{*buffer, 65536, 65536};
  EXPECT_TRUE(ok(stream.dispatch(*kernel, std::span(&part, 1), {}, {})));
  // Copies and fills split themselves.
  EXPECT_TRUE(ok(stream.fill({*buffer, 1, 200'000}, 0x5A)));
  const auto copy = on.allocate(200'001);
  ASSERT_TRUE(ok(copy));
  EXPECT_TRUE(ok(stream.copy({*buffer, 1, 200'000}, {*copy, 0, 200'000})));
  ASSERT_TRUE(ok(stream.wait()));
  const auto values = download<std::uint8_t>(on, *copy);
  for (std::size_t i = 0; i < 200'000; ++i) ASSERT_EQ(values[i], 0x5A) << i;
}

}  // namespace
}  // namespace weft::test
