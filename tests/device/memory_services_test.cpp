// What a program can learn about a device's memory, limits with their events, uploads, hints, and
// what is supported.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

TEST(DeviceMemoryServices, ReportsWhatBuffersAreUsedFor) {
  const Device device;
  const Tensor kept = device.empty({1000, 1000});
  MemoryReport report = memory_report(device);
  EXPECT_EQ(report.asked, 4'000'000U);
  EXPECT_GE(report.in_use, report.asked);
  EXPECT_LE(report.in_use, report.asked * 5 / 4);
  ASSERT_EQ(report.classes.size(), 1U);
  EXPECT_EQ(report.classes[0].used, 1U);
  EXPECT_EQ(report.classes[0].kept, 0U);
  EXPECT_EQ(report.classes[0].bytes, report.in_use);
  {
    const Tensor gone = device.empty({100});
    EXPECT_EQ(memory_report(device).classes.size(), 2U);
  }
  report = memory_report(device);
  ASSERT_EQ(report.classes.size(), 2U);
  EXPECT_EQ(report.classes[0].used, 0U);
  EXPECT_EQ(report.classes[0].kept, 1U);
  EXPECT_EQ(report.classes[0].bytes, report.pooled);
  EXPECT_DOUBLE_EQ(report.fragmentation,
                   1 - 4e6 / static_cast<double>(report.in_use + report.pooled));
  EXPECT_EQ(defragment(device), report.pooled);
  EXPECT_EQ(memory_report(device).pooled, 0U);
  EXPECT_EQ(memory_report(device).classes.size(), 1U);
  EXPECT_EQ(defragment(device), 0U);
}

TEST(DeviceMemoryServices, LimitsGiveNoticeAndHold) {
  const Device device;
  std::vector<MemoryEvent> events;
  std::vector<Tensor> cache;
  bool lets_go = false;
  set_memory_limit(device, 8 * mebibyte, [&](const MemoryEvent& event) {
    events.push_back(event);
    if (event.full && lets_go) cache.clear();
  });
  EXPECT_EQ(memory_report(device).limit, 8 * mebibyte);
  for (int i = 0; i < 3; ++i) cache.push_back(device.empty({2 * mebibyte / 4}));
  EXPECT_TRUE(events.empty());
  cache.push_back(device.empty({2 * mebibyte / 4}));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(events[0].full);
  EXPECT_EQ(events[0].in_use, 8 * mebibyte);
  EXPECT_EQ(events[0].limit, 8 * mebibyte);
  // Nothing is let go: the call fails, with a sentence, after a notice.
  try {
    (void)device.empty({1000});
    FAIL() << "the limit was passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("limit of 8388608 bytes"), std::string::npos)
        << error.what();
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(events[1].full);
  EXPECT_EQ(events[1].asked, 4000U);
  // What a listener lets go is there for the second attempt.
  lets_go = true;
  const Tensor fits = device.empty({1000});
  EXPECT_EQ(events.size(), 3U);
  EXPECT_TRUE(cache.empty());
  // Buffers that are only kept make way without a notice; being near is news again.
  for (int i = 0; i < 2; ++i) cache.push_back(device.empty({3 * mebibyte / 4}));
  EXPECT_EQ(events.size(), 3U);
  cache.push_back(device.empty({mebibyte * 3 / 2 / 4}));
  ASSERT_EQ(events.size(), 4U);
  EXPECT_FALSE(events[3].full);
  set_memory_limit(device, 0);
  const Tensor large = device.empty({16 * mebibyte / 4});
  EXPECT_EQ(events.size(), 4U);
  EXPECT_THROW(set_memory_limit(device, 1, {}, 1.5), Error);
}

TEST(DeviceMemoryServices, UploadsGoOnBesideOtherWork) {
  std::vector<float> values(300'000);
  std::iota(values.begin(), values.end(), 0.0F);
  Upload under_way =
      upload(api_device(), DType::f32, {300, 1000}, std::as_bytes(std::span(values)));
  const Tensor other = matmul(api_device().full({64, 64}, 1), api_device().full({64, 64}, 2));
  EXPECT_EQ(other.to_vector()[5], 128);
  const Tensor x = under_way.get();
  EXPECT_EQ(x.shape(), (Shape{300, 1000}));
  EXPECT_EQ(x.to_vector(), values);
  EXPECT_FALSE(under_way.ready());
  EXPECT_THROW((void)under_way.get(), Error);
  Upload wrong = upload(api_device(), DType::f32, {7}, std::as_bytes(std::span(values)));
  EXPECT_THROW((void)wrong.get(), Error);
}

TEST(DeviceMemoryServices, HintsAreThoseOfTheDevice) {
  const DeviceHints hints = device_hints(api_device());
  EXPECT_GE(hints.workgroup, 32U);
  EXPECT_LE(hints.workgroup, hints.most_invocations);
  EXPECT_GE(hints.workgroup_bytes, 16384U);
  EXPECT_GE(hints.most_bindings, 8U);
  EXPECT_LE(hints.subgroup_min, hints.subgroup_max);
  EXPECT_LE(hints.max_binding_bytes, hints.max_buffer_bytes);
  EXPECT_GT(hints.processors, 0U);
  EXPECT_GT(hints.memory_rate, 0);
  EXPECT_EQ(256 % hints.binding_alignment, 0U);
}

TEST(DeviceMemoryServices, FunctionsAreSupportedOrSayWhyNot) {
  const auto of = [](const std::vector<TensorType>& types, const auto& function) {
    return supports(api_device(), types, function);
  };
  const auto softmax_of = [](const std::vector<Tensor>& x) { return softmax(x[0]); };
  const Support yes = of({{DType::f16, {8, 64}}}, softmax_of);
  EXPECT_TRUE(yes.supported) << yes.reason;
  EXPECT_EQ(yes.reason, "");
  EXPECT_GE(yes.dispatches, 1U);
  const Support no = of({{DType::i32, {8, 64}}}, softmax_of);
  EXPECT_FALSE(no.supported);
  EXPECT_NE(no.reason.find("softmax"), std::string::npos) << no.reason;
  EXPECT_FALSE(of({{DType::f32, {2, 3}}, {DType::f32, {2, 3}}}, [](const std::vector<Tensor>& x) {
                 return matmul(x[0], x[1]);
               }).supported);
  // Larger than any buffer: nothing of it is allocated.
  const Support large =
      of({{DType::f32, {1 << 20, 1 << 20}}}, [](const std::vector<Tensor>& x) { return x[0] + 1; });
  EXPECT_FALSE(large.supported);
  EXPECT_NE(large.reason.find("bytes"), std::string::npos) << large.reason;
  // An input has no values to look at.
  EXPECT_FALSE(of({{DType::f32, {4}}}, [](const std::vector<Tensor>& x) {
                 return x[0] * static_cast<double>(x[0].to_vector()[0]);
               }).supported);
  EXPECT_TRUE(of({{DType::f32, {4, 5}}}, [](const std::vector<Tensor>& x) {
                return x[0].transpose();
              }).supported);
}

}  // namespace
}  // namespace weft::test
