#include "formats/file_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "base/format.hpp"

namespace weft {
namespace {

constexpr std::size_t buffer_bytes = 1 << 16;
constexpr std::string_view ending = ".partial";
constexpr std::size_t random_digits = 16;

std::string reason(int error) { return std::generic_category().message(error); }

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Whether `name` is what a writer of the file `of` may have left: that name, 16 digits,
/// ".partial".
bool is_leftover(std::string_view name, std::string_view of) {
  if (name.size() != of.size() + 1 + random_digits + ending.size()) return false;
  const std::string_view digits = name.substr(of.size() + 1, random_digits);
  return name.starts_with(of) && name[of.size()] == '.' && name.ends_with(ending) &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)) {
  std::random_device random;
  constexpr int most_tries = 100;
  for (int i = 0; i < most_tries; ++i) {
    partial_ = path_;
    partial_ += formatted(".{:08x}{:08x}{}", random(), random(), ending);
    file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ >= 0 || errno != EEXIST) break;
  }
  if (file_ < 0) error_ = errno;
}

FileWriter::~FileWriter() {
  if (file_ >= 0) give_up(0);
}

void FileWriter::give_up(int error) {
  if (error_ == 0) error_ = error;
  if (file_ >= 0) {
    ::close(std::exchange(file_, -1));
    ::unlink(partial_.c_str());
  }
}

void FileWriter::flush() {
  std::span<const std::byte> left = buffer_;
  while (!left.empty() && error_ == 0) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written >= 0) {
      left = left.subspan(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      give_up(errno);
    }
  }
  buffer_.clear();
}

void FileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty() && error_ == 0) {
    const auto part = bytes.first(std::min(bytes.size(), buffer_bytes - buffer_.size()));
    buffer_.insert(buffer_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    position_ += part.size();
    if (buffer_.size() >= buffer_bytes) flush();
  }
}

void FileWriter::pad_to(std::uint64_t alignment) {
  static constexpr std::array<std::byte, 64> zeros{};
  while (position_ % alignment != 0 && error_ == 0) {
    write(std::span(zeros).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(64, alignment - position_ % alignment))));
  }
}

Status FileWriter::commit() {
  flush();
  // The rename must not reach the disk before the contents.
  if (error_ == 0 && ::fsync(file_) != 0 && errno != EINVAL) give_up(errno);
  if (error_ != 0) {
    return fail(ErrorCode::io, "{} cannot be written (after {} bytes): {}.", path_.string(),
                position_, reason(error_));
  }
  if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    give_up(errno);
    return fail(ErrorCode::io, "{} cannot be renamed to {}: {}.", partial_.string(), path_.string(),
                reason(error_));
  }
  ::close(std::exchange(file_, -1));
  if (const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      folder >= 0) {
    ::fsync(folder);  // So that the new name survives too; the file itself is safe either way.
    ::close(folder);
  }
  return {};
}

void FileWriter::remove_leftovers(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::string name = path.filename().string();
  std::filesystem::directory_iterator entry(folder_of(path), ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    if (is_leftover(entry->path().filename().string(), name)) {
      std::filesystem::remove(entry->path(), ignored);
    }
  }
}

}  // namespace weft
