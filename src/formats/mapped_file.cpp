#include "formats/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace weft {
namespace {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Opening a pipe would wait for somebody who writes to it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
    return fail(code, "The file {} cannot be opened: {}.", path.string(), reason());
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) {
    return fail(ErrorCode::io, "The size of {} cannot be read: {}.", path.string(), reason());
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument, "{} is not a regular file.", path.string());
  }
  MappedFile mapped;
  mapped.origin_ = origin_of(path, status);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return mapped;  // mmap refuses empty ranges
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED) {
    return fail(ErrorCode::io, "The {} bytes of {} cannot be mapped: {}.", size, path.string(),
                reason());
  }
  mapped.bytes_ = {static_cast<const std::byte*>(start), size};
  return mapped;
}

MappedFile::Origin MappedFile::origin_of(const std::filesystem::path& path,
                                         const struct stat& status) {
  // Whoever asks later may be in another folder.
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return {.path = error ? path : whole,
          .device = status.st_dev,
          .number = status.st_ino,
          .size = status.st_size,
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

Status MappedFile::check_unchanged() const {
  struct stat status{};
  if (origin_.path.empty() || ::stat(origin_.path.c_str(), &status) != 0) return {};
  const Origin now = origin_of(origin_.path, status);
  if (now.device != origin_.device || now.number != origin_.number || now == origin_) return {};
  return fail(ErrorCode::io,
              "The file {} was changed after it was read: it had {} bytes and has {} now.",
              origin_.path.string(), origin_.size, now.size);
}

MappedFile::~MappedFile() {
  // munmap takes a pointer to non-const but changes no byte.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace weft
