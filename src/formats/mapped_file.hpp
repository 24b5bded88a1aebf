#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace weft {

/// A file mapped for reading. The bytes stay where they are when the object is moved.
class MappedFile {
 public:
  /// Maps a whole file; an empty one gives an empty span.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), origin_(std::move(other.origin_)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(origin_, other.origin_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// The contents; valid as long as this object (or the one it was moved to) lives.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  /// An error where the file was written to since it was mapped: its bytes are others then, and
  /// those behind a new end are gone, so that touching them ends the process. To be asked before
  /// bytes are read long after. A file that another one took the place of stays as it was for who
  /// mapped it.
  [[nodiscard]] Status check_unchanged() const;

 private:
  /// What tells that a file is the same as before.
  struct Origin {
    std::filesystem::path path;
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    std::int64_t size = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool operator==(const Origin&) const = default;
  };
  static Origin origin_of(const std::filesystem::path& path, const struct stat& status);

  std::span<const std::byte> bytes_;
  Origin origin_;
};

}  // namespace weft
