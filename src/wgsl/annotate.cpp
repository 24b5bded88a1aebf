#include <charconv>
#include <cstdint>
#include <optional>

#include "base/format.hpp"
#include "wgsl/template.hpp"

namespace weft::wgsl {
namespace {

/// Reads ":DIGITS" at the front of `text` and removes it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  if (!text.starts_with(':')) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (code != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool has_severity(std::string_view text) {
  return text.starts_with(" error:") || text.starts_with(" warning:") || text.starts_with(" note:");
}

}  // namespace

std::string annotate(const Expanded& expanded, std::string_view compiler_message) {
  std::string result;
  std::string_view rest = compiler_message;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) break;
    std::string_view after = rest.substr(colon);
    const auto line = take_number(after);
    const auto column = line ? take_number(after) : std::nullopt;
    if (!column || !has_severity(after) || *line == 0 || *line > expanded.origins.size()) {
      result += rest.substr(0, colon + 1);
      rest.remove_prefix(colon + 1);
      continue;
    }
    // The compiler's own file name, if any, reaches back to a space or the start of the line.
    const std::size_t space = rest.substr(0, colon).find_last_of(" \t\n");
    result += rest.substr(0, space == std::string_view::npos ? 0 : space + 1);
    const Origin& origin = expanded.origins[*line - 1];
    result += formatted("{}:{}:{}", origin.file, origin.line, *column);
    rest = after;
  }
  result += rest;
  return result;
}

}  // namespace weft::wgsl
