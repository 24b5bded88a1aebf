// Kernels fit devices with small workgroups: all that the cases of the ops reach are rendered for
// them, and what a case can compute with large workgroups, it can with small ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "case_views.hpp"
#include "device/caps.hpp"
#include "device/profiles.hpp"
#include "ops/case.hpp"
#include "ops/plan.hpp"

namespace weft {
namespace {

/// The product of what stands behind `@workgroup_size`; kernels of the ops have plain numbers
/// there.
std::optional<std::uint64_t> workgroup_size(std::string_view text) {
  constexpr std::string_view word = "@workgroup_size(";
  const std::size_t start = text.find(word);
  if (start == std::string_view::npos) return std::nullopt;
  std::uint64_t size = 1;
  const char* at = text.data() + start + word.size();
  const char* const end = text.data() + text.size();
  for (;;) {
    std::uint64_t factor = 0;
    const auto [rest, error] = std::from_chars(at, end, factor);
    if (error != std::errc{} || rest == end) return std::nullopt;
    size *= factor;
    if (*rest == ')') return size;
    at = std::find_if(rest + 1, end, [](char c) { return c != ' '; });
  }
}

TEST(Workgroups, SizesAreRead) {
  EXPECT_EQ(workgroup_size("@compute @workgroup_size(64)\nfn main"), 64U);
  EXPECT_EQ(workgroup_size("@compute @workgroup_size(8, 4) @subgroup_size(4)\nfn main"), 32U);
  EXPECT_EQ(workgroup_size("@workgroup_size(WIDTH) fn main"), std::nullopt);
  EXPECT_EQ(workgroup_size("fn main"), std::nullopt);
}

void check(std::string_view profile, std::uint32_t invocations) {
  Caps full;
  for (const Profile& each : profiles()) {
    if (each.name == profile) full = each.caps;
  }
  const auto caps = apply_caps_mask(full, formatted("invocations={}", invocations));
  ASSERT_TRUE(caps) << caps.error().message;
  std::set<std::string> known;
  std::size_t problems = 0;
  for (const ops::Op& op : ops::all_ops()) {
    for (const ops::Case& test : op.cases(1)) {
      const auto views = views_of(test);
      const auto plan = test.plan(views, *caps);
      if (!plan) {
        // A case that forces a kernel is told that this device does not have it.
        const bool told = plan.error().message.find("this device") != std::string::npos;
        if (told || !test.plan(views, full)) continue;
        ADD_FAILURE() << op.name << " " << test.name << ": " << plan.error().message;
        if (++problems == 20) return;
        continue;
      }
      for (const ops::Dispatch& dispatch : plan->dispatches) {
        if (!known.insert(dispatch.kernel.key()).second) continue;
        const auto text = ops::render(dispatch.kernel);
        ASSERT_TRUE(text) << op.name << " " << test.name << ": " << text.error().message;
        const auto size = workgroup_size(text->text);
        if (size && *size <= invocations) continue;
        ADD_FAILURE() << op.name << " " << test.name << ": " << dispatch.kernel.source
                      << " has workgroups of " << size.value_or(0) << " invocations.";
        if (++problems == 20) return;
      }
    }
  }
  std::printf("%zu kernels\n", known.size());
}

TEST(Workgroups, KernelsFit64InvocationsOnSoftware) { check("software", 64); }
TEST(Workgroups, KernelsFit64InvocationsOnAGpu) { check("h200", 64); }
TEST(Workgroups, KernelsFit128Invocations) { check("rdna3", 128); }

}  // namespace
}  // namespace weft
