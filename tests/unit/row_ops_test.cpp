// What softmax and the norms refuse, with the values in the message, and how many launches rows
// take.
#include <gtest/gtest.h>

#include <string>

#include "ops/norm/norm.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft {
namespace {

using ops::Plan;
using ops::Slot;
using ops::View;

Caps caps() {
  Caps out;
  out.subgroups = true;
  out.subgroup_min = out.subgroup_max = 32;
  out.max_buffer = 1ULL << 40;
  out.max_binding = 1ULL << 31;
  out.workgroup_invocations = 1024;
  return out;
}

std::string error_of(const Result<Plan>& plan) { return plan ? "no error" : plan.error().message; }

#define EXPECT_MENTIONS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(RowOps, SoftmaxRefusesWhatDoesNotFit) {
  const View x = View::dense(DType::f32, {4, 6, 8}, Slot(0));
  const View y = View::dense(DType::f32, {4, 6, 8}, Slot(1));
  namespace softmax = ops::softmax;
  EXPECT_MENTIONS(error_of(softmax::plan({.x = x}, caps())), "`y` was not given");
  EXPECT_MENTIONS(
      error_of(softmax::plan({.x = x, .y = View::dense(DType::f32, {4, 6, 9}, Slot(1))}, caps())),
      "[4,6,9]");
  EXPECT_MENTIONS(
      error_of(softmax::plan({.x = View::dense(DType::i32, {4, 6, 8}, Slot(0)), .y = y}, caps())),
      "i32");
  EXPECT_MENTIONS(error_of(softmax::plan({.x = View::dense(DType::f32, {}, Slot(0)),
                                          .y = View::dense(DType::f32, {}, Slot(1))},
                                         caps())),
                  "at least one dimension");
  const View mask = View::dense(DType::f32, {4, 8}, Slot(2));  // 4 rows do not divide 6
  EXPECT_MENTIONS(error_of(softmax::plan({.x = x, .y = y, .mask = mask}, caps())), "f32[4,8]");
  EXPECT_MENTIONS(error_of(softmax::plan({.x = x, .y = y, .max_bias = 8}, caps())), "no mask");
  EXPECT_MENTIONS(error_of(softmax::plan(
                      {.x = x, .y = y, .sinks = View::dense(DType::f32, {5}, Slot(3))}, caps())),
                  "f32[5]");
  View shifted = x;
  shifted.offset = 32;
  EXPECT_MENTIONS(error_of(softmax::plan({.x = x, .y = shifted}, caps())), "overlaps the output");
  View repeating = y;
  repeating.stride[0] = 0;
  EXPECT_MENTIONS(error_of(softmax::plan({.x = x, .y = repeating}, caps())), "repeats elements");
}

TEST(RowOps, NormRefusesWhatDoesNotFit) {
  namespace norm = ops::norm;
  const View x = View::dense(DType::f32, {2, 6, 8}, Slot(0));
  const View y = View::dense(DType::f32, {2, 6, 8}, Slot(1));
  EXPECT_MENTIONS(
      error_of(norm::plan({.kind = norm::Kind::group, .x = x, .y = y, .groups = 4}, caps())),
      "4 groups do not divide the 6 channels");
  EXPECT_MENTIONS(
      error_of(norm::plan({.kind = norm::Kind::group, .x = x, .y = y, .groups = 0}, caps())),
      "0 groups");
  EXPECT_MENTIONS(error_of(norm::plan({.kind = norm::Kind::group,
                                       .x = x,
                                       .y = y,
                                       .weight = View::dense(DType::f32, {8}, Slot(2))},
                                      caps())),
                  "[6]");
  EXPECT_MENTIONS(error_of(norm::plan(
                      {.x = x, .y = y, .weight = View::dense(DType::f32, {7}, Slot(2))}, caps())),
                  "[7]");
  EXPECT_MENTIONS(error_of(norm::plan({.x = x, .y = y, .sum = y}, caps())), "overlap");
  EXPECT_MENTIONS(
      error_of(norm::plan({.x = x, .y = y, .residual = View::dense(DType::f32, {2, 6, 1}, Slot(3))},
                          caps())),
      "residual");
}

TEST(RowOps, RowsTakeOneLaunchUntilTheyPassAWorkgroup) {
  const auto launches = [](std::uint64_t rows, std::uint64_t length, const Caps& device) {
    const auto plan = ops::softmax::plan({.x = View::dense(DType::f32, {rows, length}, Slot(0)),
                                          .y = View::dense(DType::f32, {rows, length}, Slot(1))},
                                         device);
    return plan ? plan->dispatches.size() : 0;
  };
  EXPECT_EQ(launches(4096, 4096, caps()), 1U);
  EXPECT_EQ(launches(16, 32768, caps()), 1U);
  EXPECT_EQ(launches(16, 131072, caps()), 2U);
  EXPECT_EQ(launches(2, 1 << 20, caps()), 3U);  // many splits are merged by a launch of their own
  Caps narrow = caps();
  narrow.workgroup_invocations = 256;
  EXPECT_EQ(launches(16, 8192, narrow), 1U);
  EXPECT_EQ(launches(16, 8196, narrow), 2U);
  Caps small = caps();
  small.max_binding = 1 << 20;
  EXPECT_EQ(launches(512, 1024, small), 4U);  // 2 MiB, of which a bit less than 1 MiB fits
  EXPECT_EQ(launches(1, 300000, small), 5U);  // two segments, reduced, merged and written
}

TEST(RowOps, EmptyTensorsTakeNoLaunch) {
  const View x = View::dense(DType::f16, {3, 0}, Slot(0));
  const auto plan = ops::norm::plan({.x = x, .y = x}, caps());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->dispatches.empty());
}

}  // namespace
}  // namespace weft
