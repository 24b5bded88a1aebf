#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/error.hpp"

namespace weft::gpu {

/// The directory for compiled pipelines: `wanted` if it is given, else $WEFT_CACHE_DIR, else
/// $XDG_CACHE_HOME/weft, else ~/.cache/weft; empty if none of these is an absolute path: nothing is
/// ever written to wherever the process happens to be.
std::filesystem::path cache_directory(const std::filesystem::path& wanted);

/// Makes a directory for this user alone, or takes one that is there if it is the user's own.
/// False: it cannot be used.
bool prepare_directory(const std::filesystem::path& directory);

/// Blobs by key, one file each, shared by all processes of a user. A file holds its whole key, so a
/// collision of file names, a torn file or a file of something else is a miss and never a wrong
/// blob. Failing to read or write is a miss too: a cache must not break what it is meant to speed
/// up. Directory and files belong to the user alone (0700, 0600); links are not followed, and files
/// of others, pipes and the like are not read.
class DiskCache {
 public:
  /// Makes the directory. The files used longest ago are removed when one is stored and they exceed
  /// `max_bytes`.
  DiskCache(std::filesystem::path directory, std::uint64_t max_bytes);

  /// The bytes of the blob, or 0. They are copied to `value` if it is large enough.
  std::size_t load(std::span<const std::byte> key, std::span<std::byte> value) noexcept;
  void store(std::span<const std::byte> key, std::span<const std::byte> value) noexcept;

  std::uint64_t hits() const { return hits_; }
  std::uint64_t stores() const { return stores_; }

 private:
  std::filesystem::path file_of(std::span<const std::byte> key) const;
  void prune() noexcept;

  std::filesystem::path directory_;
  const std::uint64_t max_bytes_;
  std::atomic<std::uint64_t> total_{0};  ///< Bytes of the files, as far as this process knows.
  std::atomic<bool> measured_{false};    ///< Whether the directory was looked at.
  const bool usable_;
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> stores_{0};
};

}  // namespace weft::gpu
