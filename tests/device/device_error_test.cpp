#include <cctype>

#include "device_fixture.hpp"

// Lost devices, errors from the background, adapters that do not exist.

namespace weft::test {
namespace {

using gpu::Device;
using gpu::whole;

TEST(DeviceError, LostDeviceSaysSoAndANewOneWorks) {
  auto made = Device::create();
  ASSERT_TRUE(ok(made));
  Device lost = *made;
  const gpu::Buffer buffer = upload(lost, std::vector<std::uint32_t>(100, 1));
  gpu::Stream stream = lost.stream();
  ASSERT_TRUE(ok(stream.fill(whole(buffer), 3)));
  auto pending = lost.read_async(whole(buffer));
  ASSERT_TRUE(ok(pending));
  ASSERT_TRUE(ok(lost.lose_for_test("the cable was pulled")));

  std::vector<std::uint32_t> values(100);
  const auto room = std::as_writable_bytes(std::span(values));
  for (int i = 0; i < 2; ++i) {
    const auto lost_error = lost.read(whole(buffer), room);
    EXPECT_TRUE(fails(lost_error, ErrorCode::device_lost, "the cable was pulled"));
    EXPECT_TRUE(fails(lost.write(whole(buffer), room), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(lost.allocate(100), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(lost.compile({}), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(lost.copy(whole(buffer), whole(buffer)), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(lost.fill(whole(buffer), 0), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(lost.synchronize(), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(lost.read_async(whole(buffer)), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(stream.submit(), ErrorCode::device_lost, "cable"));
    EXPECT_TRUE(fails(lost.poll(), ErrorCode::device_lost, "cable"));
  }
  const auto bytes = pending->get();  // It may have been ready before the loss.
  if (!bytes) {
    EXPECT_EQ(bytes.error().code, ErrorCode::device_lost) << bytes.error().message;
  }

  auto again = Device::create();
  ASSERT_TRUE(ok(again));
  const gpu::Buffer works = upload(*again, std::vector<std::uint32_t>(10, 9));
  EXPECT_EQ(download<std::uint32_t>(*again, works), std::vector<std::uint32_t>(10, 9));
  EXPECT_TRUE(fails(again->read(whole(buffer), room), ErrorCode::invalid_argument,
                    "belongs to another device"));
}

TEST(DeviceError, BackgroundErrorIsReturnedOnceByTheNextCall) {
  auto made = Device::create();
  ASSERT_TRUE(ok(made));
  Device on = *made;
  const gpu::Buffer buffer = upload(on, std::vector<std::uint32_t>(4, 1));
  for (const auto& [code, message] : {std::pair{ErrorCode::out_of_memory, "no page left"},
                                      std::pair{ErrorCode::invalid_argument, "wrong usage"}}) {
    ASSERT_TRUE(ok(on.inject_error_for_test(code, message)));
    ASSERT_TRUE(ok(on.inject_error_for_test(code, "a later one")));
    EXPECT_TRUE(fails(on.fill(whole(buffer), 7), code, message));
    EXPECT_TRUE(ok(on.fill(whole(buffer), 7)));
  }
  ASSERT_TRUE(ok(on.inject_error_for_test(ErrorCode::invalid_argument, "again")));
  EXPECT_TRUE(fails(on.poll(), ErrorCode::invalid_argument, "again"));
  EXPECT_TRUE(ok(on.poll()));
  EXPECT_EQ(download<std::uint8_t>(on, buffer), std::vector<std::uint8_t>(16, 7));
}

TEST(DeviceError, FailedSequenceIsNotSubmitted) {
  auto made = Device::create();
  ASSERT_TRUE(ok(made));
  Device on = *made;
  const gpu::Buffer buffer = upload(on, std::vector<std::uint8_t>(16, 1));
  gpu::Stream stream = on.stream();
  ASSERT_TRUE(ok(stream.fill(whole(buffer), 9)));
  ASSERT_TRUE(ok(on.inject_error_for_test(ErrorCode::invalid_argument, "stop")));
  EXPECT_TRUE(fails(stream.submit(), ErrorCode::invalid_argument, "stop"));
  EXPECT_TRUE(ok(stream.submit()));
  EXPECT_EQ(download<std::uint8_t>(on, buffer), std::vector<std::uint8_t>(16, 1));
  ASSERT_TRUE(ok(stream.fill(whole(buffer), 5)));
  ASSERT_TRUE(ok(stream.wait()));
  EXPECT_EQ(download<std::uint8_t>(on, buffer), std::vector<std::uint8_t>(16, 5));
}

TEST(DeviceError, AdaptersAreListedAndChosen) {
  const auto adapters = gpu::list_adapters();
  ASSERT_TRUE(ok(adapters));
  ASSERT_FALSE(adapters->empty());
  for (std::size_t i = 0; i < adapters->size(); ++i) {
    const gpu::AdapterInfo& info = (*adapters)[i];
    EXPECT_EQ(info.index, i);
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.backend.empty());
    EXPECT_GE(info.caps.max_buffer, info.caps.max_binding);
    EXPECT_GE(info.caps.max_binding, 128U << 20);
    EXPECT_EQ(info.caps.subgroup_matrix, !info.caps.matrix_configs.empty());
    const auto by_index = Device::create({.adapter = std::to_string(i)});
    ASSERT_TRUE(ok(by_index));
    EXPECT_EQ(by_index->info().name, info.name);
    std::string part = info.name.substr(0, 6);
    for (char& c : part) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_TRUE(ok(Device::create({.adapter = part})));
  }
  EXPECT_TRUE(ok(Device::create({.adapter = "high-performance"})));
  EXPECT_TRUE(ok(Device::create({.adapter = "low-power"})));
}

TEST(DeviceError, UnknownAdapterListsTheKnownOnes) {
  const auto adapters = gpu::list_adapters();
  ASSERT_TRUE(ok(adapters));
  for (const char* name : {"Voodoo 2", "99", "-1"}) {
    const auto device = Device::create({.adapter = name});
    EXPECT_TRUE(fails(device, ErrorCode::not_found, std::string("\"") + name + "\""));
    EXPECT_TRUE(fails(device, ErrorCode::not_found, adapters->front().name));
  }
}

TEST(DeviceError, BadMaskIsAnError) {
  EXPECT_TRUE(fails(Device::create({.caps_mask = "-warp-drive"}), ErrorCode::invalid_argument,
                    "-warp-drive"));
}

TEST(DeviceError, MaskedFeaturesAreReallyGone) {
  auto on = Device::create({.mode = gpu::Mode::safe, .caps_mask = "-f16,-subgroups,-timestamps"});
  ASSERT_TRUE(ok(on));
  EXPECT_EQ(on->mode(), gpu::Mode::safe);
  EXPECT_FALSE(on->caps().f16 || on->caps().subgroups || on->caps().subgroup_matrix);
  gpu::KernelDesc desc;
  desc.label = "halves";
  desc.wgsl = "enable f16;\n@compute @workgroup_size(1) fn main() { let x = 1.0h; }\n";
  EXPECT_TRUE(fails(on->compile(desc), ErrorCode::shader, "f16"));
  desc.wgsl = "enable subgroups;\n@compute @workgroup_size(1) fn main() { }\n";
  EXPECT_TRUE(fails(on->compile(desc), ErrorCode::shader, "subgroups"));
}

TEST(DeviceError, SafeModeKeepsAKernelInsideItsBinding) {
  auto on = Device::create({.mode = gpu::Mode::safe});
  ASSERT_TRUE(ok(on));
  gpu::KernelDesc desc;
  desc.label = "wild";
  desc.wgsl =
      "@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n"
      "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {\n"
      "  data[i] = 7u;\n}\n";
  desc.bindings = {gpu::Access::write};
  const auto kernel = on->compile(desc);
  ASSERT_TRUE(ok(kernel));
  const gpu::Buffer buffer = upload(*on, std::vector<std::uint32_t>(256, 1));
  gpu::Stream stream = on->stream();
  const gpu::Slice part{buffer, 256, 64};
  ASSERT_TRUE(ok(stream.dispatch(*kernel, std::span(&part, 1), {}, {})));
  ASSERT_TRUE(ok(stream.wait()));
  const auto values = download<std::uint32_t>(*on, buffer);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(values[i], i >= 64 && i < 80 ? 7U : 1U) << i;
}

TEST(DeviceError, SafeModeReportsABufferReadAndWrittenAtOnce) {
  auto on = Device::create({.mode = gpu::Mode::safe});
  ASSERT_TRUE(ok(on));
  gpu::KernelDesc desc;
  desc.label = "alias";
  desc.wgsl =
      "@group(0) @binding(0) var<storage, read> source: array<u32>;\n"
      "@group(0) @binding(1) var<storage, read_write> to: array<u32>;\n"
      "@compute @workgroup_size(1) fn main() { to[0] = source[0]; }\n";
  desc.bindings = {gpu::Access::read, gpu::Access::write};
  const auto kernel = on->compile(desc);
  ASSERT_TRUE(ok(kernel));
  const gpu::Buffer buffer = upload(*on, std::vector<std::uint32_t>(256, 1));
  gpu::Stream stream = on->stream();
  const gpu::Slice slices[] = {{buffer, 0, 256}, {buffer, 256, 256}};
  EXPECT_TRUE(
      fails(stream.dispatch(*kernel, slices, {}, {}), ErrorCode::invalid_argument, "alias"));
  EXPECT_TRUE(ok(stream.wait()));
}

}  // namespace
}  // namespace weft::test
