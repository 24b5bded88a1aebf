#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/format.hpp"

namespace weft {

/// A folder for the files of one test, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() /
              formatted("weft-test-{}-{}", ::getpid(), std::random_device{}())) {
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// One of the ways in which files go bad: cut short, bytes changed, a number replaced by an extreme
/// one, a part doubled.
inline std::vector<std::byte> damage(std::vector<std::byte> bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return random() % limit; };
  switch (below(4)) {
    case 0: bytes.resize(below(bytes.size())); break;
    case 1:
      for (std::size_t i = 0, count = 1 + below(8); i < count; ++i) {
        bytes[below(bytes.size())] = static_cast<std::byte>(random());
      }
      break;
    case 2: {
      constexpr std::uint64_t extremes[] = {0,         1,          0x7fffffff, 0xffffffff,
                                            1U << 31,  ~0ULL,      1ULL << 63, ~0ULL / 4 + 1,
                                            ~0ULL / 8, 1ULL << 32, ~0ULL - 31, 0x100000000ULL};
      const std::uint64_t value = extremes[below(std::size(extremes))];
      const std::size_t at = below(bytes.size());
      for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i) {
        bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
      }
      break;
    }
    default: {
      const std::size_t first = below(bytes.size());
      const std::size_t count = below(std::min<std::size_t>(bytes.size() - first, 64)) + 1;
      const std::vector<std::byte> part(
          bytes.begin() + static_cast<std::ptrdiff_t>(first),
          bytes.begin() + static_cast<std::ptrdiff_t>(std::min(first + count, bytes.size())));
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size())), part.begin(),
                   part.end());
    }
  }
  return bytes;
}

}  // namespace weft
