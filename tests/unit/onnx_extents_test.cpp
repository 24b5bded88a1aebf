// Extents as formulas of named ones, from what they are at some sizes.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "onnx/extents.hpp"

namespace weft::onnx {
namespace {

using Sizes = std::vector<std::uint64_t>;
using Rule = std::function<std::uint64_t(const Sizes&)>;

const std::vector<std::string> names{"batch", "length"};

/// The formula after all that it asks for; "?" where there is none, or where it is not sure.
std::string found(const Rule& rule, std::uint64_t scale = 1,
                  const std::function<bool(const Sizes&)>& works = {}) {
  std::vector<Sighting> seen;
  const auto look = [&](const Sizes& sizes) {
    if (!works || works(sizes)) seen.push_back({.sizes = sizes, .extent = rule(sizes)});
  };
  for (const Sizes& sizes : extent_probes(names.size(), scale)) look(sizes);
  for (int round = 0; round < 40; ++round) {
    const auto formula = fitted(names, seen, scale);
    if (!formula) return "?";
    if (formula->ask.empty()) return formula->text;
    const std::size_t before = seen.size();
    for (const Sizes& sizes : formula->ask) look(sizes);
    if (seen.size() == before) return formula->is_sure ? formula->text : "?";
  }
  return "it asks too often";
}

TEST(OnnxExtents, FormulasThatModelsHave) {
  EXPECT_EQ(found([](const Sizes&) { return 7; }), "7");
  EXPECT_EQ(found([](const Sizes& s) { return s[0]; }), "batch");
  EXPECT_EQ(found([](const Sizes& s) { return s[1] + 1; }), "length + 1");
  EXPECT_EQ(found([](const Sizes& s) { return 2 * s[1] - 3; }), "2*length - 3");
  EXPECT_EQ(found([](const Sizes& s) { return s[0] * s[1]; }), "batch*length");
  EXPECT_EQ(found([](const Sizes& s) { return 12 * s[0] * s[1] + 2 * s[0]; }),
            "2*batch + 12*batch*length");
  EXPECT_EQ(found([](const Sizes& s) { return s[0] + s[1] - 1; }), "batch + length - 1");
  EXPECT_EQ(found([](const Sizes& s) { return (s[1] - 1) / 2 + 1; }), "floor((length + 1)/2)");
  EXPECT_EQ(found([](const Sizes& s) { return s[1] / 3; }), "floor(length/3)");
  EXPECT_EQ(found([](const Sizes& s) { return 2 * s[1] / 3; }), "floor(2*length/3)");
  EXPECT_EQ(found([](const Sizes& s) { return 32 * ((s[1] + 31) / 32); }),
            "32*floor((length + 31)/32)");
  EXPECT_EQ(found([](const Sizes& s) { return 4 * ((s[1] - 1) / 2) + 3; }),
            "4*floor((length - 1)/2) + 3");
}

TEST(OnnxExtents, StridesOfLongInputsAreExact) {
  const auto frames = [](const Sizes& s) { return (s[1] - 512) / 160 + 1; };
  EXPECT_EQ(found(frames, 16), "floor((length + 128)/160) - 3");
  const auto steps = [](const Sizes& s) { return ((s[1] - 127) / 64 / 3) / 2 - 1; };
  EXPECT_EQ(found(steps, 16), "floor((length + 257)/384) - 2");
}

TEST(OnnxExtents, WhatIsNotSeenIsNotClaimed) {
  const Sizes origin = extent_probes(2)[0];
  const auto only_here = [&](const Sizes& s) { return s == origin; };
  EXPECT_EQ(found([](const Sizes&) { return 7; }, 1, only_here), "?");
  const auto one_batch = [&](const Sizes& s) { return s[0] == origin[0]; };
  EXPECT_EQ(found([](const Sizes& s) { return s[1]; }, 1, one_batch), "?");
  EXPECT_EQ(found([](const Sizes& s) { return s[1] * s[1]; }), "?");
  const auto near = [&](const Sizes& s) { return s[1] < origin[1] + 400; };
  EXPECT_EQ(found([](const Sizes& s) { return s[1] / 160; }, 1, near), "?");
}

}  // namespace
}  // namespace weft::onnx
