#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/error.hpp"

namespace weft::gpu {

/// The directory for compiled pipelines: `wanted` if it is given, else $WEFT_CACHE_DIR, else
/// $XDG_CACHE_HOME/weft, else ~/.cache/weft; empty if none of these is known.
std::filesystem::path cache_directory(const std::filesystem::path& wanted);

/// Blobs by key, one file each, shared by all processes of a user. A file holds its whole key, so a
/// collision of file names, a torn file or a file of something else is a miss and never a wrong
/// blob. Failing to read or write is a miss too: a cache must not break what it is meant to speed
/// up.
class DiskCache {
 public:
  /// Makes the directory, and removes the files used longest ago where they exceed `max_bytes`.
  DiskCache(std::filesystem::path directory, std::uint64_t max_bytes);

  /// The bytes of the blob, or 0. They are copied to `value` if it is large enough.
  std::size_t load(std::span<const std::byte> key, std::span<std::byte> value) noexcept;
  void store(std::span<const std::byte> key, std::span<const std::byte> value) noexcept;

  std::uint64_t hits() const { return hits_; }
  std::uint64_t stores() const { return stores_; }

 private:
  std::filesystem::path file_of(std::span<const std::byte> key) const;
  void prune(std::uint64_t max_bytes) noexcept;

  std::filesystem::path directory_;
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> stores_{0};
};

}  // namespace weft::gpu
