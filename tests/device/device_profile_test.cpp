#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "device_fixture.hpp"

// Times of kernels and of the host, as a table and as a trace.

namespace weft::test {
namespace {

using gpu::Device;
using gpu::whole;

gpu::KernelDesc loop_kernel(const char* label, std::uint32_t rounds) {
  gpu::KernelDesc desc;
  desc.label = label;
  desc.wgsl = R"(
override rounds: u32 = 1u;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(1)
fn main() {
  var x = data[0];
  for (var i = 0u; i < rounds; i++) { x = x * 1664525u + 1013904223u; }
  data[0] = x;
}
)";
  desc.bindings = {gpu::Access::write};
  desc.constants = {{"rounds", rounds}};
  return desc;
}

TEST(DeviceProfile, TimesKernelsAndTheHost) {
  auto on = Device::create({.profile = true});
  ASSERT_TRUE(ok(on));
  const auto quick = on->compile(loop_kernel("quick", 1));
  const auto slow = on->compile(loop_kernel("slow", 3'000'000));
  ASSERT_TRUE(ok(quick));
  ASSERT_TRUE(ok(slow));
  const gpu::Buffer data = upload(*on, std::vector<std::uint32_t>(4, 1));
  const gpu::Slice slice = whole(data);
  gpu::Stream stream = on->stream();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ok(stream.dispatch(*quick, std::span(&slice, 1), {}, {})));
    ASSERT_TRUE(ok(stream.dispatch(*slow, std::span(&slice, 1), {}, {}, "x u32[4]")));
  }
  ASSERT_TRUE(ok(stream.begin_recording()));
  ASSERT_TRUE(ok(stream.dispatch(*quick, std::span(&slice, 1), {}, {})));
  const auto recording = stream.end_recording();
  ASSERT_TRUE(ok(recording));
  ASSERT_TRUE(ok(stream.replay(*recording, 600)));  // More than one batch of queries.
  ASSERT_TRUE(ok(stream.wait()));

  const auto profile = on->profile();
  ASSERT_TRUE(ok(profile));
  std::set<std::string> host;
  for (const auto& event : profile->host) {
    host.insert(event.label);
    EXPECT_GE(event.seconds, 0);
    EXPECT_GE(event.start, 0);
  }
  EXPECT_TRUE(host.contains("submit") && host.contains("compile") && host.contains("wait"));
  const std::string table = gpu::profile_table(*profile);
  EXPECT_TRUE(table.contains("submit")) << table;
  if (!on->caps().timestamps) {
    EXPECT_TRUE(profile->gpu.empty());
    return;
  }
  ASSERT_EQ(profile->gpu.size(), 606U);
  double slow_least = 1e9;
  for (const auto& event : profile->gpu) {
    EXPECT_GE(event.start, 0);
    if (event.label == "slow") slow_least = std::min(slow_least, event.seconds);
    EXPECT_EQ(event.note, event.label == "slow" ? "x u32[4]" : "");
  }
  EXPECT_GT(slow_least, 0.0005);
  EXPECT_LT(profile->gpu.front().seconds, slow_least);
  EXPECT_TRUE(table.contains("slow") && table.contains("603")) << table;

  const auto again = on->profile();
  ASSERT_TRUE(ok(again));
  EXPECT_TRUE(again->gpu.empty());
}

TEST(DeviceProfile, TraceIsWhatPerfettoReads) {
  gpu::Profile profile;
  profile.gpu = {{"kernel \"a\"", 0.001, 0.0005, 0, "x f32[3]"}};
  profile.host = {{"submit", 0.0005, 0.0001, 1}, {"wait", 0.0006, 0.001, 2}};
  const auto file = std::filesystem::temp_directory_path() / "weft-trace-test.json";
  ASSERT_TRUE(ok(gpu::write_trace(profile, file)));
  const auto trace = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  std::size_t spans = 0;
  for (const auto& event : trace.at("traceEvents")) {
    EXPECT_TRUE(event.contains("pid") && event.contains("tid") && event.contains("name"));
    if (event.at("ph") != "X") continue;
    ++spans;
    if (event.at("name") == "kernel \"a\"") {
      EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), 1000);
      EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), 500);
      EXPECT_EQ(event.at("args").at("shapes"), "x f32[3]");
    } else {
      EXPECT_FALSE(event.contains("args"));
    }
  }
  EXPECT_EQ(spans, 3U);
  EXPECT_TRUE(
      fails(gpu::write_trace(profile, "/no/such/directory/x.json"), ErrorCode::io, "/no/such"));
}

TEST(DeviceProfile, IsEmptyWhenNotAskedFor) {
  const auto profile = device().profile();
  ASSERT_TRUE(ok(profile));
  EXPECT_TRUE(profile->gpu.empty() && profile->host.empty());
  EXPECT_EQ(gpu::profile_table(*profile), "Nothing was profiled.\n");
}

}  // namespace
}  // namespace weft::test
