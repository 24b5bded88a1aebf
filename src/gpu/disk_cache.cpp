#include "gpu/disk_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "gpu/native.hpp"

namespace weft::gpu {
namespace {

namespace fs = std::filesystem;

/// The start of every file; the key and the value follow, and nothing after them.
struct Head {
  std::array<char, 8> magic;
  std::uint64_t key_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t check = 0;  ///< A hash of key and value.
};

constexpr std::array<char, 8> file_magic{'w', 'e', 'f', 't', 'p', 'c', '0', '2'};
constexpr std::string_view ending = ".pipeline";
constexpr std::size_t name_digits = 32;

/// Whether a file is one that this class wrote: 32 hexadecimal digits, ".pipeline", and while it is
/// being written a dot and more digits. The directory may hold other things.
bool is_own(std::string_view name) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (name.size() < name_digits + ending.size()) return false;
  if (name.substr(0, name_digits).find_first_not_of(digits) != std::string_view::npos) return false;
  name.remove_prefix(name_digits);
  if (!name.starts_with(ending)) return false;
  name.remove_prefix(ending.size());
  return name.empty() || (name.front() == '.' && name.size() > 1 &&
                          name.substr(1).find_first_not_of(digits) == std::string_view::npos);
}

/// An open file that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  explicit operator bool() const { return number_ >= 0; }

  /// The size of a plain file that belongs to this user, else -1.
  std::int64_t size() const {
    struct stat status{};
    if (::fstat(number_, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != ::geteuid()) {
      return -1;
    }
    return status.st_size;
  }
  bool read(void* to, std::size_t bytes) const {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t count = ::read(number_, at, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += count;
      bytes -= static_cast<std::size_t>(count);
    }
    return true;
  }
  bool write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::write(number_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }
  void touch() const { ::futimens(number_, nullptr); }

 private:
  int number_;
};

std::uint64_t check_of(std::span<const std::byte> key, std::span<const std::byte> value) {
  return hash_bytes(value, hash_bytes(key));
}

}  // namespace

bool prepare_directory(const fs::path& directory) {
  fs::path made;
  for (const fs::path& part : directory) {
    made /= part;
    if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) {
      return false;
    }
  }
  struct stat status{};
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid()) {
    return false;
  }
  constexpr mode_t others = 077;
  return (status.st_mode & others) == 0 || ::chmod(directory.c_str(), 0700) == 0;
}

namespace {

/// A relative path would mean another folder in every current folder; as the XDG specification
/// says, it counts as unset.
fs::path absolute_from_environment(const char* name) {
  const char* value = std::getenv(name);
  fs::path path = value == nullptr ? "" : value;
  return path.is_absolute() ? path : fs::path();
}

}  // namespace

fs::path cache_directory(const fs::path& wanted) {
  if (!wanted.empty()) return wanted;
  if (fs::path path = absolute_from_environment("WEFT_CACHE_DIR"); !path.empty()) return path;
  if (fs::path path = absolute_from_environment("XDG_CACHE_HOME"); !path.empty())
    return path / "weft";
  if (fs::path path = absolute_from_environment("HOME"); !path.empty())
    return path / ".cache" / "weft";
  return {};
}

DiskCache::DiskCache(fs::path directory, std::uint64_t max_bytes)
    : directory_(std::move(directory)),
      max_bytes_(max_bytes),
      usable_(prepare_directory(directory_)) {}

fs::path DiskCache::file_of(std::span<const std::byte> key) const {
  return directory_ / formatted("{:016x}{:016x}{}", hash_bytes(key, 1), hash_bytes(key, 2), ending);
}

std::size_t DiskCache::load(std::span<const std::byte> key, std::span<std::byte> value) noexcept {
  if (!usable_) return 0;
  try {
    // No link is followed, and opening a pipe does not wait for whoever writes to it.
    const OpenFile file(
        ::open(file_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return 0;
    Head head{};
    const std::int64_t size = file.size();
    if (size < static_cast<std::int64_t>(sizeof head) || !file.read(&head, sizeof head)) return 0;
    // What the file says about its size counts only where the file has that size.
    const std::uint64_t rest = static_cast<std::uint64_t>(size) - sizeof head;
    if (head.magic != file_magic || head.key_bytes != key.size() || rest < key.size() ||
        head.value_bytes != rest - key.size()) {
      return 0;
    }
    std::vector<std::byte> stored(key.size());
    if (!file.read(stored.data(), stored.size())) return 0;
    if (!std::ranges::equal(stored, key)) return 0;
    // The value is checked even when only its size is wanted: the caller asks for the size first
    // and then counts on the bytes.
    std::vector<std::byte> bytes(head.value_bytes);
    if (!file.read(bytes.data(), bytes.size())) return 0;
    if (check_of(key, bytes) != head.check) return 0;
    if (!value.empty() && value.size() >= bytes.size()) {
      std::ranges::copy(bytes, value.begin());
      ++hits_;
      file.touch();
    }
    return bytes.size();
  } catch (...) {
    return 0;
  }
}

void DiskCache::store(std::span<const std::byte> key, std::span<const std::byte> value) noexcept {
  if (!usable_ || key.size() + value.size() > max_bytes_) return;
  try {
    const fs::path path = file_of(key);
    // Written aside under a name of its own and renamed, so that no reader sees half a file.
    const fs::path aside =
        formatted("{}.{:08x}{:x}", path.string(), std::random_device{}(), next_id());
    const Head head{file_magic, key.size(), value.size(), check_of(key, value)};
    bool whole = false;
    {
      const OpenFile file(
          ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file) return;
      whole =
          file.write(std::as_bytes(std::span(&head, 1))) && file.write(key) && file.write(value);
    }
    if (!whole || ::rename(aside.c_str(), path.c_str()) != 0) {
      ::unlink(aside.c_str());
      return;
    }
    ++stores_;
    // What other processes stored meanwhile is not counted; they look at the whole directory too,
    // now and then. Who only reads never looks: with thousands of files that takes longer than
    // opening a device.
    total_ += sizeof head + key.size() + value.size();
    if (!measured_.exchange(true) || total_ > max_bytes_) prune();
  } catch (...) {
    // A blob that is not stored is compiled again next time.
  }
}

void DiskCache::prune() noexcept {
  try {
    struct File {
      fs::file_time_type time;
      std::uint64_t bytes = 0;
      fs::path path;
    };
    std::vector<File> files;
    std::uint64_t total = 0;
    std::error_code failed;
    for (fs::directory_iterator it(directory_, failed), end; !failed && it != end;
         it.increment(failed)) {
      std::error_code ignored;
      if (!is_own(it->path().filename().string()) ||
          it->symlink_status(ignored).type() != fs::file_type::regular) {
        continue;
      }
      const std::uint64_t bytes = it->file_size(ignored);
      if (ignored) continue;
      files.push_back({it->last_write_time(ignored), bytes, it->path()});
      total += bytes;
    }
    if (total > max_bytes_) {
      // A little more than needed, so that not every store has to look at the whole directory.
      const std::uint64_t wanted = max_bytes_ - max_bytes_ / 8;
      std::ranges::sort(files, {}, &File::time);
      for (const File& file : files) {
        if (total <= wanted) break;
        std::error_code ignored;
        fs::remove(file.path, ignored);
        total -= file.bytes;
      }
    }
    total_ = total;
  } catch (...) {
    // Pruning is housekeeping; the next process tries again.
  }
}

}  // namespace weft::gpu
