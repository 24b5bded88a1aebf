#include "formats/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/format.hpp"

namespace weft {

Result<FileLock> FileLock::take(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "lock";
  FileLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (lock.file_ < 0) {
    return fail(ErrorCode::io, "{} cannot be opened: {}.", path.string(),
                std::generic_category().message(errno));
  }
  if (::flock(lock.file_, LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 16> text{};
    const bool told = ::pread(lock.file_, text.data(), text.size() - 1, 0) > 0;
    return fail(ErrorCode::io, "Another process{} is using {}.",
                told ? formatted(" ({})", text.data()) : std::string(), folder.string());
  }
  // Who has it, for others to name.
  const std::string number = formatted("{}", ::getpid());
  if (::ftruncate(lock.file_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(lock.file_, number.data(), number.size(), 0);
  }
  return lock;
}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace weft
