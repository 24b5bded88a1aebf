#include "formats/pretokenize.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "formats/unicode_ranges.hpp"

namespace weft {
namespace {

enum class Kind : std::uint8_t { end, letter, number, space, other };

/// One character: its kind and its length in bytes.
struct Character {
  Kind kind = Kind::end;
  std::uint8_t length = 0;
};

bool contains(std::span<const unicode::Range> ranges, std::uint32_t point) {
  const auto after = std::ranges::upper_bound(ranges, point, {}, &unicode::Range::first);
  return after != ranges.begin() && point <= std::prev(after)->last;
}

Kind kind_of(std::uint32_t point) {
  if (contains(unicode::letters, point)) return Kind::letter;
  if (contains(unicode::numbers, point)) return Kind::number;
  if (contains(unicode::spaces, point)) return Kind::space;
  return Kind::other;
}

/// The kinds of the first 128 characters, which are most of all text.
const std::array<Kind, 128>& ascii_kinds() {
  static const std::array<Kind, 128> kinds = [] {
    std::array<Kind, 128> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = kind_of(i);
    return table;
  }();
  return kinds;
}

/// The character that starts at `text[at]`. A byte that starts no valid UTF-8 sequence is a
/// character of its own.
Character character_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto lead = static_cast<std::uint8_t>(text[at]);
  if (lead < 0x80) return {ascii_kinds()[lead], 1};
  const std::uint8_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  constexpr Character invalid{Kind::other, 1};
  if (lead < 0xc2 || lead > 0xf4 || text.size() - at < length) return invalid;
  std::uint32_t point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[at + i]);
    if ((byte & 0xc0U) != 0x80U) return invalid;
    point = point << 6U | (byte & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  if (point < least[length] || point > 0x10ffff || surrogate) return invalid;
  return {kind_of(point), length};
}

/// Bytes of the contraction that `text` starts with, or 0.
std::size_t contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'m", "'d", "'re", "'ve", "'ll"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

/// Where the run of characters of one kind that starts at `at` ends.
std::size_t run_end(std::string_view text, std::size_t at, Kind kind) {
  for (Character c = character_at(text, at); c.kind == kind; c = character_at(text, at)) {
    at += c.length;
  }
  return at;
}

std::size_t piece_end(std::string_view text, std::size_t at) {
  if (const std::size_t length = contraction(text.substr(at)); length > 0) return at + length;
  const std::size_t start = text[at] == ' ' ? at + 1 : at;
  const Character first = character_at(text, start);
  if (first.kind != Kind::space && first.kind != Kind::end) return run_end(text, start, first.kind);
  // White space: the last of several characters goes to the word that follows them.
  std::size_t end = at;
  std::size_t last = at;
  for (Character c = character_at(text, end); c.kind == Kind::space; c = character_at(text, end)) {
    last = end;
    end += c.length;
  }
  return end < text.size() && last > at ? last : end;
}

}  // namespace

std::vector<std::string_view> pretokenize(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = piece_end(text, at);
    pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

}  // namespace weft
