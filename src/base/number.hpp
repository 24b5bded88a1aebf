#pragma once

#include <optional>
#include <string_view>

namespace weft {

/// The number that the whole of a text is, in C's notation whatever the locale; nothing where it is
/// none. In pages without the standard library's std::from_chars, whose tables a page would have to
/// load.
std::optional<double> parse_number(std::string_view text);

}  // namespace weft
