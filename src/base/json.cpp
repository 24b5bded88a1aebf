#include "base/json.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <unordered_set>

#include "base/format.hpp"
#include "base/utf8.hpp"

namespace weft::json {
namespace {

constexpr int deepest = 64;
/// Letters behind a backslash, and what they stand for.
constexpr std::string_view escapes = "\"\\/bfnrt";
constexpr std::string_view escaped = "\"\\/\b\f\n\r\t";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& to, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { to += static_cast<char>(byte); };
  const auto follow = [&](unsigned shift) { add(0x80U | ((point >> shift) & 0x3fU)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0U | (point >> 6U));
  } else if (point < 0x10000) {
    add(0xe0U | (point >> 12U));
    follow(6);
  } else {
    add(0xf0U | (point >> 18U));
    follow(12);
    follow(6);
  }
  follow(0);
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string valid(text);
  repair_utf8(valid);
  std::string out = "\"";
  for (const char c : valid) {
    const std::size_t known = c == '/' ? std::string_view::npos : escaped.find(c);
    if (known != std::string_view::npos) {
      out += '\\';
      out += escapes[known];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += formatted("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

char Reader::next() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size()));
  return rest_.empty() ? '\0' : rest_.front();
}

bool Reader::take(char c) {
  if (next() != c || rest_.empty()) return false;
  rest_.remove_prefix(1);
  return true;
}

bool Reader::take_word(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  return true;
}

bool Reader::take_digits() {
  if (rest_.empty() || !is_digit(rest_.front())) return false;
  while (!rest_.empty() && is_digit(rest_.front())) rest_.remove_prefix(1);
  return true;
}

bool Reader::take_number() {
  take_word("-");
  if (!take_word("0") && !take_digits()) return false;
  if (take_word(".") && !take_digits()) return false;
  if (!take_word("e") && !take_word("E")) return true;
  if (!take_word("-")) take_word("+");
  return take_digits();
}

bool Reader::skip() {
  switch (next()) {
    case '"': return text().has_value();
    case 't': return take_word("true");
    case 'f': return take_word("false");
    case 'n': return take_word("null");
    case '{':
    case '[': break;
    default: return take_number();
  }
  if (depth_ == deepest) return false;
  ++depth_;
  std::unordered_set<std::string> names;
  const bool taken =
      next() == '[' ? array([&] { return skip(); }) : object([&](const std::string& name) {
        if (names.insert(name).second) return skip();
        twice_ = name;
        return false;
      });
  --depth_;
  return taken;
}

std::optional<std::uint64_t> Reader::number() {
  if (!is_digit(next())) return std::nullopt;
  const std::string_view before = rest_;
  std::uint64_t value = 0;
  if (take_number()) {
    const char* const end = before.data() + (before.size() - rest_.size());
    const auto [stopped, error] = std::from_chars(before.data(), end, value);
    if (error == std::errc{} && stopped == end) return value;
  }
  rest_ = before;
  return std::nullopt;
}

std::optional<std::string> Reader::text() {
  if (!take('"')) return std::nullopt;
  std::string out;
  while (!rest_.empty()) {
    if (take_word("\"")) return out;
    if (take_word("\\")) {
      if (!take_escape(out)) break;
      continue;
    }
    const std::size_t bytes = character_bytes(rest_);
    if (bytes == 0 || static_cast<unsigned char>(rest_.front()) < 0x20) break;
    out += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  rest_ = {};
  return std::nullopt;
}

/// Four hexadecimal digits.
std::optional<std::uint32_t> Reader::take_unit() {
  constexpr std::size_t digits = 4;
  if (rest_.size() < digits) return std::nullopt;
  std::uint32_t unit = 0;
  const char* const end = rest_.data() + digits;
  const auto [stopped, error] = std::from_chars(rest_.data(), end, unit, 16);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  rest_.remove_prefix(digits);
  return unit;
}

/// What stands behind a backslash.
bool Reader::take_escape(std::string& to) {
  if (rest_.empty()) return false;
  const char letter = rest_.front();
  rest_.remove_prefix(1);
  if (letter != 'u') {
    const std::size_t known = escapes.find(letter);
    if (known == std::string_view::npos) return false;
    to += escaped[known];
    return true;
  }
  const std::optional<std::uint32_t> unit = take_unit();
  if (!unit || (*unit >= 0xdc00 && *unit < 0xe000)) return false;
  if (*unit < 0xd800 || *unit >= 0xe000) return append_utf8(to, *unit), true;
  if (!take_word("\\u")) return false;  // The second half of a character past 16 bits.
  const std::optional<std::uint32_t> low = take_unit();
  if (!low || *low < 0xdc00 || *low >= 0xe000) return false;
  append_utf8(to, 0x10000 + ((*unit - 0xd800) << 10U) + (*low - 0xdc00));
  return true;
}

}  // namespace weft::json
