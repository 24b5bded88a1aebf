#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// The one hash of the library, XXH3: it finds damage and tells keys apart, but does not keep
/// anybody from making other bytes with the same hash on purpose.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// A hash of numbers, one after the other, for tables in memory.
class Hash {
 public:
  void add(std::uint64_t number) { numbers_.push_back(number); }
  void add(std::span<const std::uint64_t> numbers) {
    add(numbers.size());
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  }
  [[nodiscard]] std::uint64_t value() const {
    return hash_bytes(std::as_bytes(std::span(numbers_)));
  }

 private:
  std::vector<std::uint64_t> numbers_;
};

}  // namespace weft
