#include "gpu/tuned.hpp"

#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/text_file.hpp"
#include "device/traits_text.hpp"

namespace weft::gpu {
namespace {

constexpr std::size_t longest_file = 1 << 16;

/// The first line of a file: everything that the traits were found out for.
std::string head_of(const AdapterInfo& info) {
  std::string head = formatted("weft {} tuned {} ({:04x}:{:04x}), {}, {}", WEFT_VERSION, info.name,
                               info.vendor_id, info.device_id, info.backend, info.driver);
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

/// Behind the first line of a file.
std::string_view body_of(std::string_view text) {
  const std::size_t line = text.find('\n');
  return line == std::string_view::npos ? std::string_view{} : text.substr(line + 1);
}

}  // namespace

std::filesystem::path tuned_file(const AdapterInfo& info, const std::filesystem::path& cache) {
  if (cache.empty()) return {};
  const std::string head = head_of(info);
  return cache / "tuned" / formatted("{:016x}.txt", hash_bytes(std::as_bytes(std::span(head))));
}

Status store_tuned(const AdapterInfo& info, const Traits& traits,
                   const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const std::filesystem::path fresh = file.string() + ".new";
  const bool written = write_text_file(fresh, head_of(info) + '\n' + text_of(traits) + '\n');
  if (written) std::filesystem::rename(fresh, file, error);
  if (!written || error) {
    return fail(ErrorCode::io, "What was found out cannot be written to {}{}{}.", file.string(),
                error ? ": " : "", error ? error.message() : "");
  }
  return {};
}

Result<std::optional<Traits>> load_tuned(const AdapterInfo& info, const std::string& setting,
                                         const std::filesystem::path& cache) {
  if (setting == "off") return std::nullopt;
  if (!setting.empty()) {
    const auto text = read(setting);
    if (!text) return wrap(text.error(), "reading the file that WEFT_TUNE names");
    const auto traits = parse_traits(body_of(*text), info.caps.traits);
    if (!traits) return wrap(traits.error(), formatted("reading {} (WEFT_TUNE)", setting));
    return *traits;
  }
  const std::filesystem::path file = tuned_file(info, cache);
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return std::nullopt;
  const auto text = read(file);
  if (!text || !text->starts_with(head_of(info) + "\n")) return std::nullopt;
  const auto traits = parse_traits(body_of(*text), info.caps.traits);
  if (!traits) return std::nullopt;
  return *traits;
}

}  // namespace weft::gpu
