// How commands tell how far they are (cli/progress_line.hpp).
#include "cli/progress_line.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::cli {
namespace {

TEST(Progress, CompilingDoesNotCountForTheTimeLeft) {
  using std::chrono::seconds;
  Pace pace;
  const Pace::Time start{};
  EXPECT_FALSE(pace.seconds_per_step(3, start + seconds(600)));  // nothing is known yet
  pace.begin(1, start + seconds(600));                           // the first step compiled
  EXPECT_FALSE(pace.seconds_per_step(1, start + seconds(601)));
  EXPECT_DOUBLE_EQ(pace.seconds_per_step(5, start + seconds(602)).value_or(0), 0.5);
  EXPECT_DOUBLE_EQ(pace.seconds_per_step(101, start + seconds(650)).value_or(0), 0.5);
  EXPECT_FALSE(pace.seconds_per_step(0, start + seconds(700)));  // gone back to an earlier step
}

TEST(Progress, WritesTimesAndNumbers) {
  EXPECT_EQ(clock_text(197.9), "03:17");
  EXPECT_EQ(clock_text(3723), "1:02:03");
  EXPECT_EQ(clock_text(-1), "00:00");
  EXPECT_EQ(grouped(12345678), "12,345,678");
  EXPECT_EQ(grouped(999), "999");
}

}  // namespace
}  // namespace weft::cli
