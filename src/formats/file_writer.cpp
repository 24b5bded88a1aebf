#include "formats/file_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <utility>

namespace weft {

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)), partial_(path_) {
  partial_ += ".partial";
  stream_.open(partial_, std::ios::binary | std::ios::trunc);
}

FileWriter::~FileWriter() {
  if (committed_ || !stream_.is_open()) return;
  stream_.close();
  std::error_code ignored;  // nothing to be done about a leftover in a destructor
  std::filesystem::remove(partial_, ignored);
}

void FileWriter::write(std::span<const std::byte> bytes) {
  stream_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  position_ += bytes.size();
}

void FileWriter::pad_to(std::uint64_t alignment) {
  static constexpr std::array<std::byte, 64> zeros{};
  while (position_ % alignment != 0) {
    write(std::span(zeros).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(64, alignment - position_ % alignment))));
  }
}

Status FileWriter::commit() {
  stream_.close();
  if (stream_.fail()) {
    return fail(ErrorCode::io, "Writing {} failed after {} bytes; is the disk full?",
                partial_.string(), position_);
  }
  // The rename must not reach the disk before the contents.
  if (const int file = ::open(partial_.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
    ::fsync(file);
    ::close(file);
  }
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) {
    return fail(ErrorCode::io, "{} cannot be renamed to {}: {}.", partial_.string(), path_.string(),
                error.message());
  }
  committed_ = true;
  return {};
}

}  // namespace weft
