#include "nn/data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "nn/curve.hpp"
#include "nn/random.hpp"
#include "weft/error.hpp"

namespace weft::nn {
namespace {

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0U);
  return tokens;
}

TEST(NnData, EveryPassShowsEveryWindowOnce) {
  const auto tokens = counting(1003);
  Windows windows(tokens, 10, 5);
  ASSERT_EQ(windows.per_epoch(), 99U);
  std::set<std::int32_t> shifts;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    const Batch batch = windows.batch(epoch * 99, 99);
    ASSERT_EQ(batch.tokens.size(), 990U);
    auto sorted = batch.tokens;
    std::ranges::sort(sorted);
    EXPECT_FALSE(std::ranges::is_sorted(batch.tokens));
    for (std::size_t i = 1; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], sorted[i - 1] + 1);
    for (std::size_t i = 0; i < 990; ++i) ASSERT_EQ(batch.labels[i], batch.tokens[i] + 1);
    shifts.insert(sorted.front());
  }
  EXPECT_GT(shifts.size(), 1U);
}

TEST(NnData, WindowsDependOnlyOnTheirNumber) {
  const auto tokens = counting(500);
  Windows first(tokens, 8, 42);
  Windows second(tokens, 8, 42);
  Windows other(tokens, 8, 43);
  EXPECT_EQ(first.batch(200, 4).tokens, second.batch(200, 4).tokens);
  (void)second.batch(0, 7);
  EXPECT_EQ(first.batch(58, 10).tokens, second.batch(58, 10).tokens);
  EXPECT_NE(first.batch(0, 10).tokens, other.batch(0, 10).tokens);
  Batch batch;
  first.append_in_order(3, batch);
  EXPECT_EQ(batch.tokens.front(), 24);
  EXPECT_THROW(Windows(tokens, 500, 1), Error);
  EXPECT_EQ(Windows(tokens, 499, 1).per_epoch(), 1U);
}

TEST(NnData, RandomStreamsAreReproducibleAndNormal) {
  EXPECT_EQ(Random(1, "a").next(), Random(1, "a").next());
  EXPECT_NE(Random(1, "a").next(), Random(1, "b").next());
  EXPECT_NE(Random(1, "a").next(), Random(2, "a").next());
  EXPECT_NE(Random(1, "a", 0).next(), Random(1, "a", 1).next());
  Random random(3, "normal");
  double sum = 0;
  double squares = 0;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.03);
}

TEST(NnData, CurveIsAPicture) {
  std::vector<Point> training;
  for (std::uint64_t i = 0; i < 5000; ++i)
    training.push_back({i, 8.0F - static_cast<float>(i) / 1000});
  const std::vector<Point> validation{
      {0, 8}, {2500, 5.5F}, {5000, std::numeric_limits<float>::quiet_NaN()}};
  const std::string svg = draw_curve("a < b", training, validation);
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("<circle", svg.rfind("<circle") + 1), std::string::npos);
  EXPECT_LT(svg.size(), 200000U);
  EXPECT_TRUE(draw_curve("nothing", {}, {}).ends_with("</svg>\n"));
  // What the axes are, and a line of means in front of all losses.
  EXPECT_NE(svg.find(">step</text>"), std::string::npos);
  EXPECT_NE(svg.find(">loss</text>"), std::string::npos);
  const auto lines = [](const std::string& text, std::string_view style) {
    std::size_t count = 0;
    for (std::size_t at = text.find(style); at != std::string::npos; at = text.find(style, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(lines(svg, "stroke=\"#9cc3e6\""), 1U);
  EXPECT_EQ(lines(svg, "stroke=\"#1f6fb2\""), 1U);
  // In a short run it would hide the losses themselves, which are all there.
  const std::string brief = draw_curve("brief", std::span(training).first(100), {});
  EXPECT_EQ(lines(brief, "stroke=\"#9cc3e6\""), 0U);
  const std::size_t path = brief.rfind("<path", brief.find("stroke=\"#1f6fb2\""));
  EXPECT_EQ(lines(brief.substr(path, brief.find("/>", path) - path), "L"), 99U);
  // Numbers that no training has, but a file may.
  const std::vector<Point> odd[] = {{{1, 3e38F}},
                                    {{1, -2}, {2, -3e38F}, {3, 3e38F}},
                                    {{std::numeric_limits<std::uint64_t>::max(), 1}},
                                    {{7, 0}, {3, 1e-30F}}};
  for (const std::vector<Point>& points : odd) {
    const std::string picture = draw_curve("odd", points, points);
    EXPECT_LT(picture.size(), 20000U);
    EXPECT_EQ(picture.find("nan"), std::string::npos) << picture;
  }
}

}  // namespace
}  // namespace weft::nn
