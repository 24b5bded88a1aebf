#include <optional>

#include "device_fixture.hpp"

// Order of recorded work, batches, recordings and replay.

namespace weft::test {
namespace {

using gpu::Buffer;
using gpu::Slice;
using gpu::whole;
using Words = std::vector<std::uint32_t>;

struct StepParams {
  std::uint32_t factor = 0;
  std::uint32_t add = 0;
};

std::span<const std::byte> bytes(const StepParams& params) {
  return std::as_bytes(std::span(&params, 1));
}

/// x = x * factor + add: the result of a sequence shows its order.
gpu::Kernel step_kernel(gpu::Device& on) {
  gpu::KernelDesc desc;
  desc.label = "step";
  desc.wgsl = R"(
struct Params { factor: u32, add: u32 }
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(1)
fn main() { data[0] = data[0] * params.factor + params.add; }
)";
  desc.bindings = {gpu::Access::write};
  desc.params_bytes = sizeof(StepParams);
  const auto kernel = on.compile(desc);
  EXPECT_TRUE(ok(kernel));
  return kernel ? *kernel : gpu::Kernel{};
}

TEST(DeviceStream, KeepsTheOrderAcrossManyBatches) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer data = upload(on, Words{1, 0, 0, 0});
  const Slice slice = whole(data);
  gpu::Stream stream = on.stream();
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const StepParams params{3, i};
    ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes(params), {})));
    expected = expected * 3 + i;
  }
  ASSERT_TRUE(ok(stream.wait()));
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], expected);
}

TEST(DeviceStream, MixesDispatchesCopiesAndFills) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer a = upload(on, Words{5, 0, 0, 0});
  const Buffer b = upload(on, Words{0, 0, 0, 0});
  const Slice on_a = whole(a);
  const Slice on_b = whole(b);
  gpu::Stream stream = on.stream();
  const StepParams twice{2, 1};
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&on_a, 1), bytes(twice), {})));  // a = 11
  ASSERT_TRUE(ok(stream.copy(on_a, on_b)));                                         // b = 11
  ASSERT_TRUE(ok(stream.fill({a, 0, 4}, 0)));                                       // a = 0
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&on_b, 1), bytes(twice), {})));  // b = 23
  ASSERT_TRUE(ok(stream.fill({a, 1, 1}, 7)));                                       // a = 0x0700
  ASSERT_TRUE(ok(stream.copy({b, 0, 1}, {a, 2, 1})));                               // a = 0x170700
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&on_a, 1), bytes(twice), {})));
  Words read(4);
  ASSERT_TRUE(ok(stream.read(whole(a), std::as_writable_bytes(std::span(read)))));
  EXPECT_EQ(read[0], 2 * 0x170700U + 1);
  EXPECT_EQ(download<std::uint32_t>(on, b)[0], 23U);
}

TEST(DeviceStream, WriteComesAfterWhatWasRecorded) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer data = upload(on, Words{5, 0, 0, 0});
  const Buffer kept = upload(on, Words(4, 0));
  const Slice slice = whole(data);
  gpu::Stream stream = on.stream();
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({10, 0}), {})));
  ASSERT_TRUE(ok(stream.copy(slice, whole(kept))));
  const Words seven{7, 7, 7, 7};
  ASSERT_TRUE(ok(stream.write(slice, bytes_of(seven))));
  EXPECT_EQ(download<std::uint32_t>(on, data), seven);
  EXPECT_EQ(download<std::uint32_t>(on, kept)[0], 50U);
}

TEST(DeviceStream, SubmitsWhatIsLeftWhenItGoes) {
  gpu::Device& on = device();
  const Buffer data = upload(on, Words{1, 0, 0, 0});
  {
    const gpu::Kernel kernel = step_kernel(on);
    const Slice slice = whole(data);
    gpu::Stream stream = on.stream();
    ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({2, 3}), {})));
  }
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], 5U);
}

TEST(DeviceStream, HoldsBuffersUntilItSubmits) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer result = upload(on, Words(4, 0));
  gpu::Stream stream = on.stream();
  {
    const Buffer temporary = upload(on, Words{20, 0, 0, 0});
    const Slice slice = whole(temporary);
    ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({2, 2}), {})));
    ASSERT_TRUE(ok(stream.copy(slice, whole(result))));
  }
  // If the temporary buffer were free already, this would take it and spoil it.
  const Buffer other = upload(on, Words{999, 0, 0, 0});
  ASSERT_TRUE(ok(stream.submit()));
  EXPECT_EQ(download<std::uint32_t>(on, result)[0], 42U);
  EXPECT_EQ(download<std::uint32_t>(on, other)[0], 999U);
}

TEST(DeviceRecording, ReplaysInOrderAndOftenWithoutNewBindGroups) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer a = upload(on, Words{1, 0, 0, 0});
  const Buffer b = upload(on, Words{0, 0, 0, 0});
  const Slice on_a = whole(a);
  const Slice on_b = whole(b);
  gpu::Stream stream = on.stream();
  ASSERT_TRUE(ok(stream.begin_recording()));
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&on_a, 1), bytes({3, 1}), {})));
  ASSERT_TRUE(ok(stream.copy(on_a, on_b)));
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&on_b, 1), bytes({2, 5}), {})));
  ASSERT_TRUE(ok(stream.copy(on_b, on_a)));
  ASSERT_TRUE(ok(stream.fill({b, 0, 3}, 0xEE)));
  auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  EXPECT_EQ(recording->size(), 5U);
  EXPECT_EQ(download<std::uint32_t>(on, a)[0], 1U) << "recording must not run anything";

  const std::uint64_t groups = on.cache().bind_groups;
  ASSERT_TRUE(ok(stream.replay(*recording)));
  ASSERT_TRUE(ok(stream.replay(*recording, 700)));  // More than one submission.
  ASSERT_TRUE(ok(stream.wait()));
  std::uint32_t expected = 1;
  for (int i = 0; i < 701; ++i) expected = 2 * (expected * 3 + 1) + 5;
  EXPECT_EQ(download<std::uint32_t>(on, a)[0], expected);
  EXPECT_EQ(download<std::uint32_t>(on, b)[0], (expected & 0xFF000000U) | 0x00EEEEEEU);
  EXPECT_EQ(on.cache().bind_groups, groups);
}

TEST(DeviceRecording, ParametersCanBeReplaced) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer data = upload(on, Words{1, 0, 0, 0});
  const Slice slice = whole(data);
  gpu::Stream stream = on.stream();
  ASSERT_TRUE(ok(stream.begin_recording()));
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({1, 1}), {})));
  ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({1, 10}), {})));
  auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  ASSERT_TRUE(ok(stream.replay(*recording)));
  ASSERT_TRUE(ok(recording->set_params(0, bytes({1, 100}))));
  ASSERT_TRUE(ok(stream.replay(*recording)));
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], 1U + 11 + 110);
  EXPECT_TRUE(fails(recording->set_params(2, bytes({})), ErrorCode::invalid_argument, "number 2"));
  EXPECT_TRUE(fails(recording->set_params(0, {}), ErrorCode::invalid_argument, "8 bytes"));
}

TEST(DeviceRecording, KeepsItsBuffers) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer result = upload(on, Words(4, 0));
  gpu::Stream stream = on.stream();
  gpu::Recording recording;
  {
    const Buffer inner = upload(on, Words{4, 0, 0, 0});
    const Slice slice = whole(inner);
    ASSERT_TRUE(ok(stream.begin_recording()));
    ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({10, 2}), {})));
    ASSERT_TRUE(ok(stream.copy(slice, whole(result))));
    auto made = stream.end_recording();
    ASSERT_TRUE(ok(made));
    recording = *made;
  }
  const Buffer other = upload(on, Words{7, 0, 0, 0});
  ASSERT_TRUE(ok(stream.replay(recording)));
  EXPECT_EQ(download<std::uint32_t>(on, result)[0], 42U);
}

TEST(DeviceRecording, TimesAReplay) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer data = upload(on, Words{1, 0, 0, 0});
  const Slice slice = whole(data);
  gpu::Stream stream = on.stream();
  ASSERT_TRUE(ok(stream.begin_recording()));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({1, 1}), {})));
  }
  const auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  const auto seconds = stream.time_replay(*recording, 20);
  ASSERT_TRUE(ok(seconds));
  EXPECT_GT(*seconds, 1e-8);
  EXPECT_LT(*seconds, 10.0);
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], 201U);
}

TEST(DeviceRecording, EncodesTheNextReplayAhead) {
  gpu::Device& on = device();
  const gpu::Kernel kernel = step_kernel(on);
  const Buffer data = upload(on, Words{1, 0, 0, 0});
  const Slice slice = whole(data);
  gpu::Stream stream = on.stream();
  ASSERT_TRUE(ok(stream.begin_recording()));
  for (int i = 0; i < 20; ++i) {  // More than the first submission has.
    ASSERT_TRUE(ok(stream.dispatch(kernel, std::span(&slice, 1), bytes({1, 1}), {})));
  }
  auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ok(stream.encode_ahead(*recording)));
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], 1U) << "encoding must not run anything";
  ASSERT_TRUE(ok(stream.replay(*recording)));
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], 21U);
  ASSERT_TRUE(ok(stream.encode_ahead(*recording)));
  ASSERT_TRUE(ok(recording->set_params(0, bytes({1, 5}))));  // Counts for what is encoded too.
  ASSERT_TRUE(ok(stream.replay(*recording, 2)));
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], 69U);
  ASSERT_TRUE(ok(stream.encode_ahead(*recording)));
  *recording = {};
  EXPECT_TRUE(ok(stream.wait()));
  EXPECT_EQ(download<std::uint32_t>(on, data)[0], 69U) << "what is not replayed does not run";
  EXPECT_TRUE(fails(stream.encode_ahead({}), ErrorCode::invalid_argument, "empty"));
}

TEST(DeviceRecording, EmptyAndMisusedOnes) {
  gpu::Device& on = device();
  gpu::Stream stream = on.stream();
  EXPECT_TRUE(fails(stream.end_recording(), ErrorCode::invalid_argument, "not recording"));
  ASSERT_TRUE(ok(stream.begin_recording()));
  EXPECT_TRUE(fails(stream.begin_recording(), ErrorCode::invalid_argument, "already"));
  EXPECT_TRUE(fails(stream.replay({}), ErrorCode::invalid_argument, "empty"));
  const auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  EXPECT_EQ(recording->size(), 0U);
  EXPECT_TRUE(ok(stream.replay(*recording, 3)));
  EXPECT_TRUE(ok(stream.time_replay(*recording, 3)));
  EXPECT_TRUE(ok(stream.wait()));
}

}  // namespace
}  // namespace weft::test
