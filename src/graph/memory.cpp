#include "graph/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/math.hpp"

namespace weft::graph {
namespace {

std::uint64_t most_at_once(std::span<const Lifetime> pieces, std::uint64_t alignment) {
  int end = 0;
  for (const Lifetime& piece : pieces) end = std::max(end, piece.last + 2);
  std::vector<std::int64_t> change(static_cast<std::size_t>(end) + 1, 0);
  for (const Lifetime& piece : pieces) {
    if (piece.last < piece.first) continue;
    const auto bytes = static_cast<std::int64_t>(round_up(piece.bytes, alignment));
    change[static_cast<std::size_t>(piece.first)] += bytes;
    change[static_cast<std::size_t>(piece.last) + 1] -= bytes;
  }
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const std::int64_t delta : change) most = std::max(most, now += delta);
  return static_cast<std::uint64_t>(most);
}

}  // namespace

Arena plan_memory(std::span<const Lifetime> pieces, std::uint64_t alignment) {
  Arena arena;
  arena.offsets.assign(pieces.size(), 0);
  arena.bound = most_at_once(pieces, alignment);
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return pieces[i].bytes; });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    const Lifetime& mine = pieces[i];
    if (mine.last < mine.first || mine.bytes == 0) continue;
    const std::uint64_t bytes = round_up(mine.bytes, alignment);
    std::uint64_t at = 0;
    for (const std::size_t j : placed) {
      const Lifetime& other = pieces[j];
      if (other.last < mine.first || mine.last < other.first) continue;
      if (arena.offsets[j] >= at + bytes) break;
      at = std::max(at, arena.offsets[j] + round_up(other.bytes, alignment));
    }
    arena.offsets[i] = at;
    arena.bytes = std::max(arena.bytes, at + bytes);
    placed.insert(
        std::ranges::upper_bound(placed, at, {}, [&](std::size_t j) { return arena.offsets[j]; }),
        i);
  }
  return arena;
}

}  // namespace weft::graph
