#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft {

/// A hash that finds damage: bytes that differ in one word of eight never have the same one. (It does not keep anybody from
/// making others with the same hash on purpose.) Four words at a time, so that files are hashed as fast as they are read.
inline std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0) {
  constexpr std::uint64_t prime = 0x9fb21c651e98df25;
  // Each step is a bijection of the hash for any word, and of the word for any hash: no difference gets lost.
  const auto mix = [](std::uint64_t hash, std::uint64_t word) {
    return std::rotl((hash ^ word) * prime, 29);
  };
  std::array<std::uint64_t, 4> lanes{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                                     0x082efa98ec4e6c89};
  const std::uint64_t size = bytes.size();
  while (bytes.size() >= sizeof lanes) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), bytes.data(), sizeof words);
    for (std::size_t i = 0; i < words.size(); ++i) lanes[i] = mix(lanes[i], words[i]);
    bytes = bytes.subspan(sizeof words);
  }
  std::uint64_t hash = mix(seed, size);
  for (const std::uint64_t lane : lanes) hash = mix(hash, lane);
  for (const std::byte byte : bytes) hash = mix(hash, std::to_integer<std::uint64_t>(byte));
  hash ^= hash >> 32;
  return hash * prime;
}

}  // namespace weft
