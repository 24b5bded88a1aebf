// A plan chooses its kernels once and passes the choice on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "case_views.hpp"
#include "device/profiles.hpp"
#include "ops/case.hpp"
#include "ops/choose.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/plan.hpp"

namespace weft {
namespace {

Caps caps_of(std::string_view profile) {
  const auto all = profiles();
  return std::ranges::find(all, profile, &Profile::name)->caps;
}

/// Ops with a kernel in their list that is a product of another op, or their own work on copies,
/// which choose in their own lists; and ops whose cases force a kernel and go back to a free choice
/// where the device does not have it. They choose at most twice for each launch, and twice before.
constexpr std::array nested{"mul_mat", "conv", "norm", "attention"};

TEST(Choices, EachLaunchIsChosenOnce) {
  for (const std::string_view profile : {"software", "h200", "adreno"}) {
    const Caps caps = caps_of(profile);
    std::size_t problems = 0;
    for (const ops::Op& op : ops::all_ops()) {
      for (const ops::Case& test : op.cases(1)) {
        const std::uint64_t before = ops::choices_made;
        const auto plan = test.plan(views_of(test), caps);
        if (!plan) continue;
        const std::uint64_t made = ops::choices_made - before;
        const std::uint64_t launches = plan->dispatches.size();
        const std::uint64_t most =
            std::ranges::contains(nested, op.name) ? 2 * launches + 2 : launches;
        if (made <= most) continue;
        ADD_FAILURE() << op.name << " " << test.name << " on " << profile << ": " << made
                      << " choices for " << launches << " launches.";
        if (++problems == 5) return;
      }
    }
  }
}

TEST(Choices, AProductInHalvesIsChosenOnceItself) {
  // Large bf16 operands on a device with matrix units: two launches that halve, and the product.
  const std::uint64_t n = 512;
  const auto view = [&](DType type, std::uint32_t number) {
    return ops::View::dense(type, {n, n}, ops::Slot(number));
  };
  const std::uint64_t before = ops::choices_made;
  const auto plan = ops::gemm::plan({.a = view(DType::bf16, 0),
                                     .b = view(DType::bf16, 1).transpose(0, 1),
                                     .c = view(DType::bf16, 2)},
                                    caps_of("h200"));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->dispatches.size(), 3U);
  EXPECT_EQ(ops::choices_made - before, 1U);
}

}  // namespace
}  // namespace weft
