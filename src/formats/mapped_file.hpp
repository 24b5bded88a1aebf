#pragma once

#include <cstddef>
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
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// The contents; valid as long as this object (or the one it was moved to) lives.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace weft
