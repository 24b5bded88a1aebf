#include "graph/memory.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "ops/case.hpp"

namespace weft::graph {
namespace {

/// No two pieces that are needed at the same time may share bytes.
void expect_apart(const std::vector<Lifetime>& pieces, const Arena& arena) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_LE(arena.offsets[i] + pieces[i].bytes, arena.bytes);
    EXPECT_EQ(arena.offsets[i] % 256, 0U);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together = pieces[i].first <= pieces[j].last && pieces[j].first <= pieces[i].last;
      const bool apart = arena.offsets[i] + pieces[i].bytes <= arena.offsets[j] ||
                         arena.offsets[j] + pieces[j].bytes <= arena.offsets[i];
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

TEST(GraphMemory, PiecesAreReusedAndNeverShared) {
  ops::Random random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<Lifetime> pieces;
    for (int i = 0; i < 200; ++i) {
      const int first = static_cast<int>(random.between(0, 300));
      pieces.push_back(
          {random.between(1, 100000), first, first + static_cast<int>(random.between(0, 30))});
    }
    const Arena arena = plan_memory(pieces, 256);
    expect_apart(pieces, arena);
    EXPECT_GE(arena.bytes, arena.bound);
    EXPECT_LE(static_cast<double>(arena.bytes), 1.35 * static_cast<double>(arena.bound));
  }
}

TEST(GraphMemory, AChainTakesTwoPieces) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({1024, i, i + 1});
  EXPECT_EQ(plan_memory(chain, 256).bytes, 2048U);
  EXPECT_EQ(plan_memory(chain, 256).bound, 2048U);
  EXPECT_EQ(plan_memory({}, 256).bytes, 0U);
  chain.push_back({1 << 20, 0, -1});  // never needed
  EXPECT_EQ(plan_memory(chain, 256).bytes, 2048U);
}

}  // namespace
}  // namespace weft::graph
