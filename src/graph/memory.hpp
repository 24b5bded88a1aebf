#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::graph {

/// A piece of memory that is needed from launch `first` to launch `last`, both included.
struct Lifetime {
  std::uint64_t bytes = 0;
  int first = 0;
  int last = -1;  ///< Below `first`: never needed.
};

/// Where each piece starts in one arena.
struct Arena {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;  ///< Size of the arena.
  std::uint64_t bound =
      0;  ///< Most bytes that are needed at the same time: no plan can do with less.
};

/// Places pieces so that no two that are needed at the same time overlap: the largest first, each
/// at the lowest place where it fits. Offsets are multiples of `alignment`.
Arena plan_memory(std::span<const Lifetime> pieces, std::uint64_t alignment);

}  // namespace weft::graph
