#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace weft {

/// Writes a file that appears under its name only when it is whole: everything goes to a neighbour
/// that `commit` renames. A process that dies in between leaves the old file as it was. The
/// neighbour has a random name and is made anew, so that two writers never share one and no link
/// that lies there is followed.
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

  /// Flushes to the disk and puts the file in place; says what went wrong in any of the writes, in
  /// the system's words.
  Status commit();

  /// Removes what writers of `path` left that were killed. Nobody may be writing it now.
  static void remove_leftovers(const std::filesystem::path& path);

 private:
  void flush();
  void give_up(int error);

  std::filesystem::path path_;
  std::filesystem::path partial_;
  int file_ = -1;
  int error_ = 0;  ///< The system's number of the first thing that failed.
  std::vector<std::byte> buffer_;
  std::uint64_t position_ = 0;
};

}  // namespace weft
