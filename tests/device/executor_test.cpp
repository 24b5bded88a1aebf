// What the executor adds to plans: kernels by key, checks of the caller's buffers, readable
// compiler messages.
#include "graph/executor.hpp"

#include <gtest/gtest.h>

#include <string>

#include "device_fixture.hpp"
#include "ops/map/map.hpp"

namespace weft::test {
namespace {

ops::Plan copy_plan() {
  const auto plan = ops::map::plan({.function = "exp",
                                    .inputs = {ops::View::dense(DType::f32, {64}, ops::Slot(0))},
                                    .y = ops::View::dense(DType::f32, {64}, ops::Slot(1))},
                                   device().caps());
  EXPECT_TRUE(ok(plan));
  return *plan;
}

TEST(DeviceExecutor, CompilerMessagesNameTheTemplate) {
  const Result<gpu::Device> safe = gpu::Device::create({.mode = gpu::Mode::safe});
  ASSERT_TRUE(ok(safe));
  graph::Executor executor(*safe);
  ops::Plan plan = copy_plan();
  plan.dispatches.front().kernel.constants["DOMAIN"] = "f64";  // no such type in WGSL
  gpu::Stream stream = safe->stream();
  const Status ran = executor.run(stream, plan, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::shader);
  EXPECT_NE(ran.error().message.find("map/helpers.wgsl:"), std::string::npos)
      << ran.error().message;
}

TEST(DeviceExecutor, BuffersThatAreMissingOrShortAreErrors) {
  graph::Executor executor(device());
  gpu::Stream stream = device().stream();
  const Status missing = executor.run(stream, copy_plan(), {});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("only 0 buffers"), std::string::npos)
      << missing.error().message;
  const std::vector slots{*device().allocate(256), *device().allocate(128)};
  const Status small = executor.run(stream, copy_plan(), slots);
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().message.find("which has 128 bytes"), std::string::npos)
      << small.error().message;
}

TEST(DeviceExecutor, VerifiedKeysLetEqualKernelsThrough) {
  graph::Executor executor(device(), {.verify_keys = true});
  const std::vector slots{*device().allocate(256), *device().allocate(256)};
  gpu::Stream stream = device().stream();
  EXPECT_TRUE(ok(executor.run(stream, copy_plan(), slots)));
  EXPECT_TRUE(ok(executor.run(stream, copy_plan(), slots)));
}

}  // namespace
}  // namespace weft::test
