#include "gpu/tuned.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/text_file.hpp"
#include "device/tile_lists.hpp"
#include "device/traits_text.hpp"
#include "gpu/disk_cache.hpp"

namespace weft::gpu {
namespace {

constexpr std::size_t longest_file = 1 << 16;

/// The first line of a file: everything that the traits were found out for.
std::string head_of(const AdapterInfo& info) {
  std::string head =
      formatted("weft {} tiles {:016x} tuned {} ({:04x}:{:04x}), {}, {}", WEFT_VERSION, tile_lists,
                info.name, info.vendor_id, info.device_id, info.backend, info.driver);
  for (char& c : head) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return head;
}

Result<std::string> read(const std::filesystem::path& file) {
  auto text = read_text_file(file, longest_file);
  if (text) return std::move(*text);
  return fail(ErrorCode::io, "The traits of a device cannot be read from {}.", file.string());
}

/// Puts a text in the place of a file: written under a name that nobody has seen (no link is
/// followed) and renamed. Others may read it at most. Gives the system's number of an error, or 0.
int replace_file(const std::filesystem::path& file, std::string_view text) {
  std::random_device random;
  const std::string fresh = formatted("{}.{:08x}{:08x}", file.string(), random(), random());
  const int opened =
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (opened < 0) return errno;
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t count = ::write(opened, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(opened) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(fresh.c_str(), file.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(fresh.c_str());
  return error;
}

/// Behind the first line of a file.
std::string_view body_of(std::string_view text) {
  const std::size_t line = text.find('\n');
  return line == std::string_view::npos ? std::string_view{} : text.substr(line + 1);
}

std::filesystem::path file_of(const AdapterInfo& info, const std::filesystem::path& cache,
                              std::string_view folder) {
  if (cache.empty()) return {};
  const std::string head = head_of(info);
  return cache / folder / formatted("{:016x}.txt", hash_bytes(std::as_bytes(std::span(head))));
}

/// What a file of this machine says about an adapter, if there is one.
std::optional<Traits> kept_in(const std::filesystem::path& file, const AdapterInfo& info) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return std::nullopt;
  const auto text = read(file);
  if (!text || !text->starts_with(head_of(info) + "\n")) return std::nullopt;
  const auto traits = parse_traits(body_of(*text), info.caps.traits);
  return traits ? std::optional(*traits) : std::nullopt;
}

}  // namespace

std::filesystem::path tuned_file(const AdapterInfo& info, const std::filesystem::path& cache) {
  return file_of(info, cache, "tuned");
}

std::filesystem::path probed_file(const AdapterInfo& info, const std::filesystem::path& cache) {
  return file_of(info, cache, "probed");
}

Status store_tuned(const AdapterInfo& info, const Traits& traits,
                   const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::exists(folder, error)) (void)prepare_directory(folder);
  if (const int number = replace_file(file, head_of(info) + '\n' + text_of(traits) + '\n')) {
    return fail(ErrorCode::io, "What was found out cannot be written to {}: {}.", file.string(),
                std::generic_category().message(number));
  }
  return {};
}

Result<std::optional<Traits>> load_tuned(const AdapterInfo& info, const std::string& setting,
                                         const std::filesystem::path& cache) {
  if (setting == "off" || setting == "probe") return std::nullopt;
  if (!setting.empty()) {
    const auto text = read(setting);
    if (!text) return wrap(text.error(), "reading the file that WEFT_TUNE names");
    const auto traits = parse_traits(body_of(*text), info.caps.traits);
    if (!traits) return wrap(traits.error(), formatted("reading {} (WEFT_TUNE)", setting));
    return *traits;
  }
  const auto tuned = kept_in(tuned_file(info, cache), info);
  return tuned ? tuned : kept_in(probed_file(info, cache), info);
}

}  // namespace weft::gpu
