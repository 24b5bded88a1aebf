// A plan chooses its kernels once and passes the choice on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "case_views.hpp"
#include "device/profiles.hpp"
#include "device/traits_text.hpp"
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

TEST(Choices, NoTraitsTakeAPlanAway) {
  // What a foreign or an old file may say at most: speed follows it, and nothing else does.
  constexpr std::array<std::string_view, 4> texts{
      "processors=65536 items=16 launch_bytes=1e14 memory_rate=1e6 cache_bytes=1e14 f16_rate=1000 "
      "matrix_rate=1e6 registers=65536",
      "processors=1 items=1 launch_bytes=0 memory_rate=1e-300 cache_bytes=0 f16_rate=1e-300 "
      "matrix_rate=1e-300 registers=0",
      "gemm_tile=4294967295 matrix_tile=4294967295 vector_tile=4294967295 "
      "quantized_tile=4294967295 few_tile=4294967295 attention_tile=4294967295 "
      "reduce_tile=4294967295 conv_tile=4294967295",
      "overlaps=0 slow_barriers=1 slow_compile=1 slow_scatter=1 near_memory=0 matrix_units=0 "
      "items=4"};
  for (const std::string_view profile : {"h200", "old"}) {
    const Caps known = caps_of(profile);
    for (const std::string_view text : texts) {
      Caps caps = known;
      const auto traits = parse_traits(text, known.traits);
      ASSERT_TRUE(traits) << traits.error().message;
      caps.traits = *traits;
      std::size_t problems = 0;
      for (const ops::Op& op : ops::all_ops()) {
        for (const ops::Case& test : op.cases(1)) {
          // Forced kernels, whose tiles for slow compilers want smaller matrices than these.
          if (test.name.starts_with("id_matrix")) continue;
          const auto views = views_of(test);
          if (test.plan(views, caps) || !test.plan(views, known)) continue;
          ADD_FAILURE() << op.name << " " << test.name << " on " << profile << " with " << text
                        << ": " << test.plan(views, caps).error().message;
          if (++problems == 5) return;
        }
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
