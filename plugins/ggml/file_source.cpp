#include "file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace weft::plugin {
namespace {

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Reads all bytes; false where that fails or the file ends before.
bool read_all(int descriptor, std::uint64_t offset, std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t got = ::pread(descriptor, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

/// A line of /proc/self/maps: "start-end perms offset device inode   path".
struct Mapping {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uint64_t offset = 0;
  std::string path;
};

/// The shared mapping without write access that covers the address; a private one may have other
/// bytes than its file.
std::optional<Mapping> mapping_at(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    const char* last = line.data() + line.size();
    const auto [dash, bad_start] = std::from_chars(line.data(), last, mapping.start, 16);
    if (bad_start != std::errc() || last - dash < 8) continue;
    const auto [space, bad_end] = std::from_chars(dash + 1, last, mapping.end, 16);
    if (bad_end != std::errc() || address < mapping.start || address >= mapping.end) continue;
    const std::string_view rest(space, static_cast<std::size_t>(last - space));
    const std::size_t path = rest.find('/');
    if (rest.size() < 7 || rest[1] != 'r' || rest[2] != '-' || rest[4] != 's' ||
        path == std::string_view::npos || rest.ends_with(" (deleted)")) {
      return std::nullopt;
    }
    const auto [end, bad_offset] = std::from_chars(rest.data() + 6, last, mapping.offset, 16);
    if (bad_offset != std::errc()) return std::nullopt;
    mapping.path = rest.substr(path);
    return mapping;
  }
  return std::nullopt;
}

class HostCopy : public ByteSource {
 public:
  explicit HostCopy(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> to) const override {
    std::ranges::copy(std::span(bytes_).subspan(offset, to.size()), to.begin());
    return {};
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

SourcePart host_copy(std::span<const std::byte> bytes) {
  return {std::make_shared<const HostCopy>(bytes), 0};
}

std::shared_ptr<const SourceFile> SourceFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  struct stat about{};
  if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(descriptor);
    return nullptr;
  }
  return std::shared_ptr<const SourceFile>(
      new SourceFile(path, descriptor, about.st_size, about.st_mtim));
}

SourceFile::~SourceFile() { ::close(descriptor_); }

Status SourceFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  struct stat now{};
  if (::fstat(descriptor_, &now) != 0 || now.st_size != size_ ||
      !same_time(now.st_mtim, changed_)) {
    return fail(ErrorCode::io, "The file {} was changed since its tensors were loaded.", path_);
  }
  if (!read_all(descriptor_, offset, to)) {
    return fail(ErrorCode::io, "{} bytes at offset {} of the file {} cannot be read: {}.",
                to.size(), offset, path_, std::generic_category().message(errno));
  }
  return {};
}

std::shared_ptr<const SourceFile> FileSources::open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const auto& file) { return file.expired(); });
  for (const auto& known : files_) {
    if (auto file = known.lock(); file && file->path() == path) return file;
  }
  auto file = SourceFile::open(path);
  if (file) files_.push_back(file);
  return file;
}

std::optional<SourcePart> FileSources::find(std::span<const std::byte> bytes) {
  const auto address = std::bit_cast<std::uintptr_t>(bytes.data());
  const auto mapping = mapping_at(address);
  if (!mapping || bytes.size() > mapping->end - address) return std::nullopt;
  SourcePart part{open(mapping->path), mapping->offset + (address - mapping->start)};
  if (!part.source) return std::nullopt;
  // Another file may have the name by now: some pieces of what was mapped are compared with it.
  constexpr std::size_t pieces = 8;
  std::array<std::byte, 512> buffer{};
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::size_t size = std::min(buffer.size(), bytes.size());
    const std::size_t at = (bytes.size() - size) / (pieces - 1) * i;
    const std::span piece = std::span(buffer).first(size);
    if (!part.source->read(part.offset + at, piece) ||
        std::memcmp(piece.data(), bytes.data() + at, size) != 0) {
      return std::nullopt;
    }
  }
  return part;
}

}  // namespace weft::plugin
