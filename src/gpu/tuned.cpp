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

/// How the first line of a file begins, and which lists of tiles its numbers are from.
constexpr std::string_view head_start = "weft ";
std::string lists_word() { return formatted(" tiles {:016x} ", tile_lists); }

/// The first line of a file: everything that the traits were found out for.
std::string head_of(const AdapterInfo& info) {
  std::string head =
      formatted("{}{}{}tuned {} ({:04x}:{:04x}), {}, {}", head_start, WEFT_VERSION, lists_word(),
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

/// A text under a name that nobody has seen (no link is followed), beside a file whose place it may
/// take. Others may read it at most.
class Replacement {
 public:
  explicit Replacement(const std::filesystem::path& file) : file_(file) {
    std::random_device random;
    fresh_ = formatted("{}.{:08x}{:08x}", file.string(), random(), random());
    opened_ = ::open(fresh_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (opened_ < 0) error_ = errno;
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (opened_ < 0) return;
    ::close(opened_);
    if (!placed_) ::unlink(fresh_.c_str());
  }

  void write(std::string_view text) {
    while (!text.empty() && error_ == 0) {
      const ssize_t count = ::write(opened_, text.data(), text.size());
      if (count >= 0) {
        text.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
  }
  void place() {
    if (error_ != 0) return;
    placed_ = ::rename(fresh_.c_str(), file_.c_str()) == 0;
    if (!placed_) error_ = errno;
  }
  /// The system's number of the first error, or 0.
  [[nodiscard]] int error() const { return error_; }

 private:
  const std::filesystem::path& file_;
  std::string fresh_;
  int opened_ = -1;
  int error_ = 0;
  bool placed_ = false;
};

/// Makes the folder of a file where there is none.
void make_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::exists(folder, error)) (void)prepare_directory(folder);
}

Status unwritable(const std::filesystem::path& file, int error) {
  return fail(ErrorCode::io, "What was found out cannot be written to {}: {}.", file.string(),
              std::generic_category().message(error));
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

std::optional<Traits> load_probed(const AdapterInfo& info, const std::filesystem::path& cache) {
  return kept_in(probed_file(info, cache), info);
}

Status can_store(const std::filesystem::path& file) {
  make_folder_of(file);
  std::error_code error;
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error)) {
    return fail(ErrorCode::io, "What is found out cannot be kept in {}, which is no plain file.",
                file.string());
  }
  const Replacement fresh(file);
  return fresh.error() == 0 ? Status{} : unwritable(file, fresh.error());
}

Status store_tuned(const AdapterInfo& info, const Traits& traits,
                   const std::filesystem::path& file) {
  make_folder_of(file);
  Replacement fresh(file);
  fresh.write(head_of(info) + '\n' + text_of(traits) + '\n');
  fresh.place();
  return fresh.error() == 0 ? Status{} : unwritable(file, fresh.error());
}

Result<Traits> read_tuned(const std::filesystem::path& file, const Traits& known) {
  const auto text = read(file);
  if (!text) return std::unexpected(text.error());
  const bool headed = text->starts_with(head_start);
  if (headed && !text->substr(0, text->find('\n')).contains(lists_word())) {
    return fail(
        ErrorCode::invalid_argument,
        "{} was written by another version of Weft, whose tiles have other numbers: \"{}\". "
        "`weft tune --file` writes it anew.",
        file.string(), text->substr(0, text->find('\n')));
  }
  auto traits = parse_traits(headed ? body_of(*text) : std::string_view(*text), known);
  if (!traits) return wrap(traits.error(), formatted("reading {}", file.string()));
  return traits;
}

Result<std::optional<Traits>> load_tuned(const AdapterInfo& info, const std::string& setting,
                                         const std::filesystem::path& cache) {
  if (setting == "off" || setting == "probe") return std::nullopt;
  if (!setting.empty()) {
    const auto traits = read_tuned(setting, info.caps.traits);
    if (!traits) return wrap(traits.error(), "reading the file that WEFT_TUNE names");
    return *traits;
  }
  const auto tuned = kept_in(tuned_file(info, cache), info);
  return tuned ? tuned : kept_in(probed_file(info, cache), info);
}

}  // namespace weft::gpu
