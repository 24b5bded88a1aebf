// Random programs on the device against the host: step by step, and whole expressions in every way
// that there is to compute them. WEFT_SEEDS=FIRST..LAST runs other programs than the few of every
// test run; `./weft test --fuzz MINUTES` lets libFuzzer choose them, under every mask.
#include <gtest/gtest.h>

#include <cstdlib>

#include "random_expression.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
};

/// Those of every test run, or others that were asked for.
Seeds seeds(std::uint64_t few) {
  Seeds all{.last = few};
  if (const char* text = std::getenv("WEFT_SEEDS"); text != nullptr) {
    const std::string range = text;
    const std::size_t dots = range.find("..");
    all.first = std::stoull(range);
    all.last = dots == std::string::npos ? all.first : std::stoull(range.substr(dots + 2));
  }
  return all;
}

TEST(DeviceDifferential, RandomProgramsAreWhatTheHostMakesOfThem) {
  const Seeds all = seeds(40);
  for (std::uint64_t seed = all.first; seed <= all.last && !HasFailure(); ++seed) {
    Source source(seed);
    EXPECT_EQ(check_steps(api_device(), source), "") << "seed " << seed;
  }
}

TEST(DeviceDifferential, WholeExpressionsAreTheSameHoweverTheyAreComputed) {
  const Seeds all = seeds(16);
  std::size_t steps = 0;
  for (std::uint64_t seed = all.first; seed <= all.last && !HasFailure(); ++seed) {
    Source source(seed ^ 0x5eed5eedULL);
    const Expression expression = random_expression(source);
    steps += expression.steps.size();
    if (expression.steps.empty()) continue;
    EXPECT_EQ(compare_all_ways(api_device(), expression), "") << "seed " << seed;
  }
  if (all.last >= all.first + 15) {
    EXPECT_GT(steps, 4 * (all.last - all.first)) << "hardly anything is computed";
  }
}

}  // namespace
}  // namespace weft::test
