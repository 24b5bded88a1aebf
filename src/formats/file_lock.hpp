#pragma once

#include <filesystem>
#include <utility>

#include "base/error.hpp"

namespace weft {

/// Keeps a folder for one process at a time, by a lock on a file "lock" in it. The system gives it
/// back when the process ends, however it ends.
class FileLock {
 public:
  /// An error at once, with the other's number, if another process has it.
  static Result<FileLock> take(const std::filesystem::path& folder);

  FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_;
};

}  // namespace weft
