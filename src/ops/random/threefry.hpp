#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace weft::ops::random {

/// Two words: a key, a counter or a block of random bits.
using Pair = std::array<std::uint32_t, 2>;

/// The block of random bits that belongs to a counter under a key: Threefry-2x32 with 20 rounds
/// (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), a cipher
/// of additions, rotations and exclusive ors, which are the same everywhere. random.wgsl has it for
/// devices.
constexpr Pair threefry(Pair key, Pair counter) {
  constexpr std::array<std::array<int, 4>, 2> turns{{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  const std::array keys{key[0], key[1], 0x1bd11bdaU ^ key[0] ^ key[1]};
  Pair x{counter[0] + keys[0], counter[1] + keys[1]};
  for (std::uint32_t group = 0; group < 5; ++group) {
    for (const int turn : turns[group % 2]) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], turn) ^ x[0];
    }
    x[0] += keys[(group + 1) % 3];
    x[1] += keys[(group + 2) % 3] + group + 1;
  }
  return x;
}

/// Counters of drawn numbers have 0 here; keys that are made from others have counters of their
/// own.
inline constexpr std::uint32_t split_domain = 0x80000000U;
inline constexpr std::uint32_t fold_domain = 0xc0000000U;

}  // namespace weft::ops::random
