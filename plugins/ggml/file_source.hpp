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

/// What has bytes of a tensor once more.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual Status read(std::uint64_t offset, std::span<std::byte> to) const = 0;
};

/// Where bytes can be had again.
struct SourcePart {
  std::shared_ptr<const ByteSource> source;
  std::uint64_t offset = 0;
};

/// A copy of bytes in the host's memory.
SourcePart host_copy(std::span<const std::byte> bytes);

/// A file that the program had mapped when it gave its bytes to a tensor, opened once more to read
/// them again.
class SourceFile : public ByteSource {
 public:
  /// Null where the file does not open.
  static std::shared_ptr<const SourceFile> open(const std::string& path);
  ~SourceFile() override;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Reads bytes as they were when the file was opened; a file that was changed since is an error.
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> to) const override;

 private:
  SourceFile(std::string path, int descriptor, off_t size, timespec changed)
      : path_(std::move(path)), descriptor_(descriptor), size_(size), changed_(changed) {}
  std::string path_;
  int descriptor_;
  off_t size_;
  timespec changed_;
};

/// The files that bytes of the host come from. llama.cpp hands weights over where it has mapped
/// them, and unmaps them then; the system knows which file is mapped where. Thread-safe.
class FileSources {
 public:
  /// The file that has these bytes, if they lie in a mapping that nobody can write to.
  std::optional<SourcePart> find(std::span<const std::byte> bytes);

 private:
  std::shared_ptr<const SourceFile> open(const std::string& path);
  std::mutex mutex_;
  std::vector<std::weak_ptr<const SourceFile>> files_;
};

}  // namespace weft::plugin
