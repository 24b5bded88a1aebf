#include "gpu/disk_cache.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "gpu/native.hpp"

namespace weft::gpu {
namespace {

namespace fs = std::filesystem;

/// The start of every file; the key and the value follow.
struct Head {
  std::array<char, 8> magic;
  std::uint64_t key_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t check = 0;  ///< A hash of the value.
};

constexpr std::array<char, 8> file_magic{'w', 'e', 'f', 't', 'p', 'c', '0', '1'};
constexpr std::uint64_t most_value_bytes = std::uint64_t{1} << 31;

std::uint64_t fnv1a(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? fs::path() : fs::path(value);
}

bool read_exactly(std::ifstream& file, void* to, std::size_t bytes) {
  file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  return file.gcount() == static_cast<std::streamsize>(bytes);
}

}  // namespace

fs::path cache_directory(const fs::path& wanted) {
  if (!wanted.empty()) return wanted;
  if (fs::path path = from_environment("WEFT_CACHE_DIR"); !path.empty()) return path;
  if (fs::path path = from_environment("XDG_CACHE_HOME"); !path.empty()) return path / "weft";
  if (fs::path path = from_environment("HOME"); !path.empty()) return path / ".cache" / "weft";
  return {};
}

DiskCache::DiskCache(fs::path directory, std::uint64_t max_bytes)
    : directory_(std::move(directory)) {
  std::error_code ignored;
  fs::create_directories(directory_, ignored);
  prune(max_bytes);
}

fs::path DiskCache::file_of(std::span<const std::byte> key) const {
  return directory_ /
         formatted("{:016x}{:016x}.pipeline", fnv1a(key, 0), fnv1a(key, key.size() + 1));
}

std::size_t DiskCache::load(std::span<const std::byte> key, std::span<std::byte> value) noexcept {
  try {
    const fs::path path = file_of(key);
    std::ifstream file(path, std::ios::binary);
    Head head{};
    if (!file || !read_exactly(file, &head, sizeof head)) return 0;
    if (head.magic != file_magic || head.key_bytes != key.size() ||
        head.value_bytes > most_value_bytes)
      return 0;
    std::vector<std::byte> stored(key.size());
    if (!read_exactly(file, stored.data(), stored.size())) return 0;
    if (!std::ranges::equal(stored, key)) return 0;
    // The value is checked even when only its size is wanted: the caller asks for the size first
    // and then counts on the bytes.
    std::vector<std::byte> bytes(head.value_bytes);
    if (!read_exactly(file, bytes.data(), bytes.size())) return 0;
    if (fnv1a(bytes, 0) != head.check) return 0;
    if (!value.empty() && value.size() >= bytes.size()) {
      std::ranges::copy(bytes, value.begin());
      ++hits_;
      std::error_code ignored;
      fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    }
    return bytes.size();
  } catch (...) {
    return 0;
  }
}

void DiskCache::store(std::span<const std::byte> key, std::span<const std::byte> value) noexcept {
  try {
    const fs::path path = file_of(key);
    // Written aside under a name of its own and renamed, so that no reader sees half a file.
    const fs::path aside =
        formatted("{}.{:08x}{:x}", path.string(), std::random_device{}(), next_id());
    {
      std::ofstream file(aside, std::ios::binary | std::ios::trunc);
      const Head head{file_magic, key.size(), value.size(), fnv1a(value, 0)};
      file.write(reinterpret_cast<const char*>(&head), sizeof head);
      file.write(reinterpret_cast<const char*>(key.data()),
                 static_cast<std::streamsize>(key.size()));
      file.write(reinterpret_cast<const char*>(value.data()),
                 static_cast<std::streamsize>(value.size()));
      if (!file.flush()) {
        std::error_code ignored;
        fs::remove(aside, ignored);
        return;
      }
    }
    std::error_code failed;
    fs::rename(aside, path, failed);
    if (failed) {
      std::error_code ignored;
      fs::remove(aside, ignored);
      return;
    }
    ++stores_;
  } catch (...) {
    // A blob that is not stored is compiled again next time.
  }
}

void DiskCache::prune(std::uint64_t max_bytes) noexcept {
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
      // Only what this class wrote: the directory may hold other things.
      if (it->path().filename().string().find(".pipeline") == std::string::npos) continue;
      std::error_code ignored;
      const std::uint64_t bytes = it->file_size(ignored);
      if (ignored) continue;
      files.push_back({it->last_write_time(ignored), bytes, it->path()});
      total += bytes;
    }
    if (total <= max_bytes) return;
    std::ranges::sort(files, {}, &File::time);
    for (const File& file : files) {
      if (total <= max_bytes) break;
      std::error_code ignored;
      fs::remove(file.path, ignored);
      total -= file.bytes;
    }
  } catch (...) {
    // Pruning is housekeeping; the next process tries again.
  }
}

}  // namespace weft::gpu
