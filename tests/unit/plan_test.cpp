// Plans that are put together from plans.
#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

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

/// The bindings of a launch that reads these ranges of one buffer of floats and writes the last.
std::vector<BoundRange> bound(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
  Launch launch;
  launch.source = "map/map.wgsl";
  const std::array<std::string_view, 3> names{"a", "b", "c"};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    View view = View::dense(DType::f32, {ranges[i].second}, 0);
    view.offset = ranges[i].first * 4;
    const Access access = i + 1 == ranges.size() ? Access::write : Access::read;
    launch.operands.push_back({.name = names.at(i), .view = view, .access = access});
  }
  const auto made = make_dispatch(std::move(launch), Caps{.max_binding = 1 << 20});
  EXPECT_TRUE(made);
  if (!made) return {};
  for (const BindingDecl& binding : made->kernel.bindings) EXPECT_TRUE(binding.writable);
  return made->ranges;
}

TEST(Dispatch, JoinsReadsThatOverlapWhereTheSameBufferIsWritten) {
  // WebGPU wants all bindings of a buffer that is written to be writable, and writable ones to be apart.
  EXPECT_EQ(bound({{0, 128}, {64, 128}, {512, 128}}).size(), 2U);
  EXPECT_EQ(bound({{0, 64}, {128, 64}, {512, 128}}).size(), 3U);
  EXPECT_EQ(bound({{0, 128}, {512, 128}, {64, 512}}).size(), 1U);
}

}  // namespace
}  // namespace weft::ops
