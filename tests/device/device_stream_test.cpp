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

/// A stream, the step kernel, and one number for it to work on.
class Steps : public testing::Test {
 protected:
  static Buffer number(std::uint32_t value) { return upload(device(), Words{value, 0, 0, 0}); }
  static std::uint32_t value_of(const Buffer& of) {
    return download<std::uint32_t>(device(), of)[0];
  }

  /// x = x * factor + add of a buffer's first word.
  testing::AssertionResult step(const Buffer& of, StepParams params) {
    const Slice slice = whole(of);
    return ok(stream.dispatch(kernel, std::span(&slice, 1), bytes(params), {}));
  }
  testing::AssertionResult step(StepParams params) { return step(data, params); }

  gpu::Kernel kernel = step_kernel(device());
  Buffer data = number(1);
  gpu::Stream stream = device().stream();
};
class DeviceStream : public Steps {};
class DeviceRecording : public Steps {};

TEST_F(DeviceStream, KeepsTheOrderAcrossManyBatches) {
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(step({3, i}));
    expected = expected * 3 + i;
  }
  ASSERT_TRUE(ok(stream.wait()));
  EXPECT_EQ(value_of(data), expected);
}

TEST_F(DeviceStream, MixesDispatchesCopiesAndFills) {
  const Buffer a = number(5);
  const Buffer b = number(0);
  const StepParams twice{2, 1};
  ASSERT_TRUE(step(a, twice));                         // a = 11
  ASSERT_TRUE(ok(stream.copy(whole(a), whole(b))));    // b = 11
  ASSERT_TRUE(ok(stream.fill({a, 0, 4}, 0)));          // a = 0
  ASSERT_TRUE(step(b, twice));                         // b = 23
  ASSERT_TRUE(ok(stream.fill({a, 1, 1}, 7)));          // a = 0x0700
  ASSERT_TRUE(ok(stream.copy({b, 0, 1}, {a, 2, 1})));  // a = 0x170700
  ASSERT_TRUE(step(a, twice));
  Words read(4);
  ASSERT_TRUE(ok(stream.read(whole(a), std::as_writable_bytes(std::span(read)))));
  EXPECT_EQ(read[0], 2 * 0x170700U + 1);
  EXPECT_EQ(value_of(b), 23U);
}

TEST_F(DeviceStream, WriteComesAfterWhatWasRecorded) {
  const Buffer kept = number(0);
  ASSERT_TRUE(step({10, 40}));
  ASSERT_TRUE(ok(stream.copy(whole(data), whole(kept))));
  const Words seven{7, 7, 7, 7};
  ASSERT_TRUE(ok(stream.write(whole(data), bytes_of(seven))));
  EXPECT_EQ(download<std::uint32_t>(device(), data), seven);
  EXPECT_EQ(value_of(kept), 50U);
}

TEST_F(DeviceStream, SubmitsWhatIsLeftWhenItGoes) {
  {
    gpu::Stream passing = device().stream();
    const Slice slice = whole(data);
    ASSERT_TRUE(ok(passing.dispatch(kernel, std::span(&slice, 1), bytes({2, 3}), {})));
  }
  EXPECT_EQ(value_of(data), 5U);
}

TEST_F(DeviceStream, HoldsBuffersUntilItSubmits) {
  {
    const Buffer temporary = number(20);
    ASSERT_TRUE(step(temporary, {2, 2}));
    ASSERT_TRUE(ok(stream.copy(whole(temporary), whole(data))));
  }
  // If the temporary buffer were free already, this would take it and spoil it.
  const Buffer other = number(999);
  ASSERT_TRUE(ok(stream.submit()));
  EXPECT_EQ(value_of(data), 42U);
  EXPECT_EQ(value_of(other), 999U);
}

TEST_F(DeviceRecording, ReplaysInOrderAndOftenWithoutNewBindGroups) {
  const Buffer other = number(0);
  ASSERT_TRUE(ok(stream.begin_recording()));
  ASSERT_TRUE(step({3, 1}));
  ASSERT_TRUE(ok(stream.copy(whole(data), whole(other))));
  ASSERT_TRUE(step(other, {2, 5}));
  ASSERT_TRUE(ok(stream.copy(whole(other), whole(data))));
  ASSERT_TRUE(ok(stream.fill({other, 0, 3}, 0xEE)));
  auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  EXPECT_EQ(recording->size(), 5U);
  EXPECT_EQ(value_of(data), 1U) << "recording must not run anything";

  const std::uint64_t groups = device().cache().bind_groups;
  ASSERT_TRUE(ok(stream.replay(*recording)));
  ASSERT_TRUE(ok(stream.replay(*recording, 700)));  // More than one submission.
  ASSERT_TRUE(ok(stream.wait()));
  std::uint32_t expected = 1;
  for (int i = 0; i < 701; ++i) expected = 2 * (expected * 3 + 1) + 5;
  EXPECT_EQ(value_of(data), expected);
  EXPECT_EQ(value_of(other), (expected & 0xFF000000U) | 0x00EEEEEEU);
  EXPECT_EQ(device().cache().bind_groups, groups);
}

TEST_F(DeviceRecording, ParametersCanBeReplaced) {
  ASSERT_TRUE(ok(stream.begin_recording()));
  ASSERT_TRUE(step({1, 1}));
  ASSERT_TRUE(step({1, 10}));
  auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  ASSERT_TRUE(ok(stream.replay(*recording)));
  ASSERT_TRUE(ok(recording->set_params(0, bytes({1, 100}))));
  ASSERT_TRUE(ok(stream.replay(*recording)));
  EXPECT_EQ(value_of(data), 1U + 11 + 110);
  EXPECT_TRUE(fails(recording->set_params(2, bytes({})), ErrorCode::invalid_argument, "number 2"));
  EXPECT_TRUE(fails(recording->set_params(0, {}), ErrorCode::invalid_argument, "8 bytes"));
}

TEST_F(DeviceRecording, KeepsItsBuffers) {
  gpu::Recording recording;
  {
    const Buffer inner = number(4);
    ASSERT_TRUE(ok(stream.begin_recording()));
    ASSERT_TRUE(step(inner, {10, 2}));
    ASSERT_TRUE(ok(stream.copy(whole(inner), whole(data))));
    auto made = stream.end_recording();
    ASSERT_TRUE(ok(made));
    recording = *made;
  }
  const Buffer other = number(7);
  ASSERT_TRUE(ok(stream.replay(recording)));
  EXPECT_EQ(value_of(data), 42U);
}

TEST_F(DeviceRecording, TimesAReplay) {
  ASSERT_TRUE(ok(stream.begin_recording()));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(step({1, 1}));
  const auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  const auto seconds = stream.time_replay(*recording, 20);
  ASSERT_TRUE(ok(seconds));
  EXPECT_GT(*seconds, 1e-8);
  EXPECT_LT(*seconds, 10.0);
  EXPECT_EQ(value_of(data), 201U);
}

TEST_F(DeviceRecording, EncodesTheNextReplayAhead) {
  ASSERT_TRUE(ok(stream.begin_recording()));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(step({1, 1}));  // More than the first submission has.
  auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ok(stream.encode_ahead(*recording)));
  EXPECT_EQ(value_of(data), 1U) << "encoding must not run anything";
  ASSERT_TRUE(ok(stream.replay(*recording)));
  EXPECT_EQ(value_of(data), 21U);
  ASSERT_TRUE(ok(stream.encode_ahead(*recording)));
  ASSERT_TRUE(ok(recording->set_params(0, bytes({1, 5}))));  // Counts for what is encoded too.
  ASSERT_TRUE(ok(stream.replay(*recording, 2)));
  EXPECT_EQ(value_of(data), 69U);
  ASSERT_TRUE(ok(stream.encode_ahead(*recording)));
  *recording = {};
  EXPECT_TRUE(ok(stream.wait()));
  EXPECT_EQ(value_of(data), 69U) << "what is not replayed does not run";
  EXPECT_TRUE(fails(stream.encode_ahead({}), ErrorCode::invalid_argument, "empty"));
}

TEST_F(DeviceRecording, EmptyAndMisusedOnes) {
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
