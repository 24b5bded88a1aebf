#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// Bytes of the UTF-8 character that a text starts with; 0 where there is none.
std::size_t character_bytes(std::string_view text);
/// Whether a text is UTF-8 from its beginning to its end.
bool is_utf8(std::string_view text);
/// Puts a question mark in the place of each byte that is not UTF-8: names may be any bytes.
void repair_utf8(std::string& text);

}  // namespace weft
