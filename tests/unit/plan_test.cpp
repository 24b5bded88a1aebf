// Plans that are put together from plans.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/plan.hpp"
#include "ops/report.hpp"
#include "ops/stages.hpp"

namespace weft::ops {
namespace {

Plan touching(std::initializer_list<Slot> slots) {
  Plan plan;
  plan.dispatches.emplace_back();
  for (const Slot slot : slots) plan.dispatches[0].ranges.push_back({.slot = slot});
  return plan;
}

std::vector<std::string> slots_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const Dispatch& dispatch : plan.dispatches) {
    for (const BoundRange& range : dispatch.ranges) out.push_back(describe(range.slot));
  }
  return out;
}

using Words = std::vector<std::string>;

TEST(Plan, AppendRenumbersScratchAndNothingElse) {
  Plan outer;
  outer.add_scratch(16);
  Plan inner = touching({Slot(3), Slot::shared(1), Slot::table(64), Slot::stage(2), Slot{}});
  inner.dispatches[0].ranges.push_back({.slot = inner.add_scratch(32)});
  outer.append(inner);
  EXPECT_EQ(slots_of(outer), (Words{"buffer 3", "shared scratch 1", "table 64",
                                    "scratch 2 of a stage", "no buffer", "scratch 1"}));
  EXPECT_EQ(outer.scratch, (std::vector<std::uint64_t>{16, 32}));
}

TEST(Dispatch, SaysItsShapesWhereTheyAreAskedFor) {
  const auto shapes = [](bool asked) {
    Launch launch;
    launch.source = "map/map.wgsl";
    launch.operands.push_back({.name = "x", .view = View::dense(DType::f16, {2, 3}, Slot(0))});
    launch.operands.push_back(
        {.name = "y", .view = View::dense(DType::f32, {2, 3}, Slot(1)), .access = Access::write});
    const auto made =
        make_dispatch(std::move(launch), Caps{.max_binding = 1 << 20, .shapes = asked});
    return made ? made->shapes : made.error().message;
  };
  EXPECT_EQ(shapes(true), "x f16[2,3] y f32[2,3]");
  EXPECT_EQ(shapes(false), "");
}

TEST(Report, IsASentence) {
  EXPECT_EQ(describe(Report{}), "");
  Report report{};
  report[0] = 1;
  report[1] = ~7U;
  report[6] = 3;
  report[7] = ~0U;
  EXPECT_EQ(describe(report),
            "embedding met 1 index out of range, the first at position 7; gather met 3 indices out "
            "of range, the first at position 0 of its indices (check_indices).");
}

TEST(Slot, IsTheSameOnlyWithinItsKind) {
  EXPECT_NE(Slot(0), Slot{});
  EXPECT_NE(Slot(0), Slot::scratch(0));
  EXPECT_NE(Slot::stage(0), Slot::shared(0));
  EXPECT_EQ(Slot::table(2), Slot::table(2));
  EXPECT_LT(Slot(1), Slot(2));
  EXPECT_FALSE(View::dense(DType::f32, {4}).given());
  EXPECT_TRUE(View::dense(DType::f32, {4}, Slot(0)).given());
}

/// An op of stages: what it is given goes through scratch of its own, and through an inner op of
/// the same kind.
Plan through_stages(const View& given, int inner) {
  Stages stages({given});
  const View between = stages.scratch(DType::f32, {4});
  stages.add(touching({given.slot, between.slot}));
  if (inner > 0) stages.add(through_stages(between, inner - 1));
  auto plan = std::move(stages).finish();
  EXPECT_TRUE(plan);
  return plan.value_or(Plan{});
}

TEST(Stages, KeepScratchOfStagesWithinStagesApart) {
  const Plan plan = through_stages(View::dense(DType::f32, {4}, Slot(3)), 2);
  EXPECT_EQ(slots_of(plan),
            (Words{"buffer 3", "scratch 2", "scratch 2", "scratch 1", "scratch 1", "scratch 0"}));
  EXPECT_EQ(plan.scratch.size(), 3U);
}

/// The bindings of a launch that reads these ranges of one buffer of floats and writes the last.
std::vector<BoundRange> bound(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
  Launch launch;
  launch.source = "map/map.wgsl";
  const std::array<std::string_view, 3> names{"a", "b", "c"};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    View view = View::dense(DType::f32, {ranges[i].second}, Slot(0));
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
  // WebGPU wants all bindings of a buffer that is written to be writable, and writable ones to be
  // apart.
  EXPECT_EQ(bound({{0, 128}, {64, 128}, {512, 128}}).size(), 2U);
  EXPECT_EQ(bound({{0, 64}, {128, 64}, {512, 128}}).size(), 3U);
  EXPECT_EQ(bound({{0, 128}, {512, 128}, {64, 512}}).size(), 1U);
}

}  // namespace
}  // namespace weft::ops
