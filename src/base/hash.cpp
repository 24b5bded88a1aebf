#include "base/hash.hpp"

#define XXH_INLINE_ALL  // No library to link with: of it all, one function is used.
#include <xxhash.h>

namespace weft {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace weft
