// Plans that are put together from plans.
#include <gtest/gtest.h>

#include "ops/plan.hpp"

namespace weft::ops {
namespace {

Plan touching(std::initializer_list<int> slots) {
  Plan plan;
  plan.dispatches.emplace_back();
  for (const int slot : slots) plan.dispatches[0].ranges.push_back({.slot = slot});
  return plan;
}

std::vector<int> slots_of(const Plan& plan) {
  std::vector<int> out;
  for (const Dispatch& dispatch : plan.dispatches) {
    for (const BoundRange& range : dispatch.ranges) out.push_back(range.slot);
  }
  return out;
}

TEST(Plan, AppendRenumbersScratchAndTakesBackWhatWasLent) {
  Plan outer;
  const View mine = View::dense(DType::f32, {4}, outer.add_scratch(16));
  const View theirs = View::dense(DType::f32, {4}, 3);
  Plan inner = touching({lend(mine).slot, lend(theirs).slot, first_scratch_slot});
  inner.add_scratch(32);
  outer.append(inner);
  EXPECT_EQ(slots_of(outer), (std::vector{first_scratch_slot, 3, first_scratch_slot + 1}));
  EXPECT_EQ(outer.scratch, (std::vector<std::uint64_t>{16, 32}));
}

TEST(Plan, LendingTwiceReachesTheOutermostPlan) {
  Plan outer;
  const View mine = View::dense(DType::f32, {4}, outer.add_scratch(16));
  Plan middle;
  middle.add_scratch(64);
  middle.append(touching({lend(lend(mine)).slot}));
  outer.append(middle);
  EXPECT_EQ(slots_of(outer), (std::vector{first_scratch_slot}));
}

}  // namespace
}  // namespace weft::ops
