#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace weft {

/// Writes a file that appears under its name only when it is whole: everything goes to a neighbour that `commit`
/// renames. A process that dies in between leaves the old file as it was.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Zero bytes up to the next multiple of `alignment`.
  void pad_to(std::uint64_t alignment);
  /// Bytes written so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Flushes to the disk and puts the file in place; says what went wrong in any of the writes.
  Status commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::ofstream stream_;
  std::uint64_t position_ = 0;
  bool committed_ = false;
};

}  // namespace weft
