// Subgroup matrices as other devices offer them, as far as the device of the tests can run them,
// and the look at an unknown device.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/format.hpp"
#include "base/half.hpp"
#include "device_fixture.hpp"
#include "gpu/probe.hpp"
#include "graph/executor.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/matrices.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t rows = 40;
constexpr std::uint64_t columns = 48;
constexpr std::uint64_t terms = 80;

/// Whole numbers from -3 to 3 as f16, whose products add up exactly.
std::vector<std::uint16_t> numbers(std::uint64_t count, std::uint64_t step) {
  std::vector<std::uint16_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i)
    out[i] = f16_bits(static_cast<float>(i * step % 7) - 3.0F);
  return out;
}

/// What the matrix kernel gives that is planned for these capabilities.
std::vector<float> product(const Caps& caps, std::uint32_t subgroup_size) {
  const ops::View a = ops::View::dense(DType::f16, {rows, terms}, ops::Slot(0));
  const ops::View b = ops::View::dense(DType::f16, {terms, columns}, ops::Slot(1));
  const ops::View c = ops::View::dense(DType::f32, {rows, columns}, ops::Slot(2));
  const auto plan = ops::gemm::plan({.a = a, .b = b, .c = c, .kernel = "matrix"}, caps);
  EXPECT_TRUE(ok(plan));
  if (!plan) return {};
  EXPECT_EQ(plan->dispatches.front().kernel.features.subgroup_size, subgroup_size);
  const gpu::Buffer out = upload(device(), std::vector<float>(rows * columns));
  const std::vector<gpu::Buffer> buffers{upload(device(), numbers(rows * terms, 5)),
                                         upload(device(), numbers(terms * columns, 3)), out};
  graph::Executor executor(device());
  gpu::Stream stream = device().stream();
  EXPECT_TRUE(ok(executor.run(stream, *plan, buffers)));
  EXPECT_TRUE(ok(stream.wait()));
  return download<float>(device(), out);
}

TEST(DeviceMatrices, KernelsAskForTheSizeOfSubgroupsWhereThereAreSeveral) {
  const Caps& caps = device().caps();
  if (!ops::float_matrices(caps) || !caps.subgroup_control) {
    GTEST_SKIP() << "This device has no subgroup matrices, or kernels cannot ask for subgroups.";
  }
  Caps several = caps;
  several.subgroup_min = caps.subgroup_max / 2;
  const std::vector<float> asked = product(several, caps.subgroup_max);
  const std::vector<float> given = product(caps, 0);
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked, given);
  EXPECT_TRUE(std::ranges::any_of(given, [](float value) { return value != 0; }));
}

TEST(DeviceProbe, FindsOutWhatADeviceIsGoodAt) {
  Traits nothing;
  nothing.processors = 77;
  nothing.memory_rate = 0.125;
  const auto found = gpu::probe(device(), nothing, 2);
  ASSERT_TRUE(ok(found));
  EXPECT_GE(found->processors, 1U);
  EXPECT_NE(found->processors, 77U);
  EXPECT_NE(found->memory_rate, 0.125);
  EXPECT_TRUE(found->f16_rate == 1 || found->f16_rate == 2);
  EXPECT_EQ(found->registers, nothing.registers);  // which nothing tells
}

TEST(DeviceProbe, KeepsWhatItFoundForTheNextProgram) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / formatted("weft_probe_{}", ::getpid());
  const char* const before = std::getenv("WEFT_TUNE");
  const std::string setting = before == nullptr ? "" : before;
  const auto open = [&](const char* tune) {
    ::setenv("WEFT_TUNE", tune, 1);
    auto made = gpu::Device::create({.cache_dir = folder});
    ::setenv("WEFT_TUNE", setting.c_str(), 1);
    EXPECT_TRUE(ok(made));
    return made ? made->caps().traits : Traits{};
  };
  const Traits probed = open("probe");
  EXPECT_EQ(open(""), probed);
  EXPECT_EQ(open("off"), device().caps().traits);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::test
