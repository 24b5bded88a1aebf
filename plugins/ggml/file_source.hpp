#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace weft::plugin {

/// A file that the program had mapped when it gave its bytes to a tensor, opened once more to read them again.
class SourceFile {
 public:
  /// Null where the file does not open.
  static std::shared_ptr<const SourceFile> open(const std::string& path);
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;
  ~SourceFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Reads bytes as they were when the file was opened; a file that was changed since is an error.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  SourceFile(std::string path, int descriptor, off_t size, timespec changed)
      : path_(std::move(path)), descriptor_(descriptor), size_(size), changed_(changed) {}
  std::string path_;
  int descriptor_;
  off_t size_;
  timespec changed_;
};

/// Where bytes can be had again.
struct FilePart {
  std::shared_ptr<const SourceFile> file;
  std::uint64_t offset = 0;
};

/// The files that bytes of the host come from. llama.cpp hands weights over where it has mapped them, and unmaps them then; the
/// system knows which file is mapped where. Thread-safe.
class FileSources {
 public:
  /// The file that has these bytes, if they lie in a mapping that nobody can write to.
  std::optional<FilePart> find(std::span<const std::byte> bytes);

 private:
  std::shared_ptr<const SourceFile> open(const std::string& path);
  std::mutex mutex_;
  std::vector<std::weak_ptr<const SourceFile>> files_;
};

}  // namespace weft::plugin
