#include "base/utf8.hpp"

namespace weft {

std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(i)) return 0;
  }
  // Longer than necessary, surrogates, and past the last character.
  const unsigned second = at(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return bytes;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void repair_utf8(std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = character_bytes(std::string_view(text).substr(i));
    if (bytes == 0) text[i] = '?';
    i += bytes == 0 ? 1 : bytes;
  }
}

}  // namespace weft
