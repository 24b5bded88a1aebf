#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

/// The one hash of the library, XXH3: it finds damage and tells keys apart, but does not keep
/// anybody from making other bytes with the same hash on purpose.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace weft
