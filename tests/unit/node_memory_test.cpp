// The memory of nodes, which threads keep for the next ones.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "graph/node_memory.hpp"

namespace weft::graph {
namespace {

constexpr std::size_t bytes = 320;

std::vector<void*> take(std::size_t count) {
  std::vector<void*> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(take_node_memory(bytes));
    std::memset(out.back(), static_cast<int>(i % 256), bytes);
  }
  return out;
}

void give(const std::vector<void*>& all) {
  for (void* const each : all) give_node_memory(each, bytes);
}

TEST(NodeMemory, BlocksInUseAreNeverTheSame) {
  for (int round = 0; round < 3; ++round) {
    const std::vector<void*> all = take(1000);
    EXPECT_EQ(std::set<void*>(all.begin(), all.end()).size(), all.size());
    give(all);
  }
}

TEST(NodeMemory, OtherSizesAreNotMixedUp) {
  give(take(10));
  void* const larger = take_node_memory(16 * bytes);
  std::memset(larger, 1, 16 * bytes);
  const std::vector<void*> all = take(10);
  for (void* const each : all) EXPECT_NE(each, larger);
  give_node_memory(larger, 16 * bytes);
  give(all);
}

TEST(NodeMemory, ThreadsGiveBackWhatOthersTook) {
  const std::vector<void*> mine = take(500);
  std::vector<void*> theirs;
  std::thread([&] {
    give(mine);
    theirs = take(500);
  }).join();  // and what it kept goes with it
  EXPECT_EQ(std::set<void*>(theirs.begin(), theirs.end()).size(), theirs.size());
  give(theirs);
}

}  // namespace
}  // namespace weft::graph
