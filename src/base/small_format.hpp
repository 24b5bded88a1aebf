#pragma once

#include <format>
#include <string>
#include <string_view>

namespace weft {

/// What std::vformat gives, for the values and formats that the library uses: numbers, texts, truth
/// values and pointers; fill, alignment, '#', '0', width, precision, and the types d, x, X, f, g, e
/// and s. It is for pages, where the standard one costs more than a tenth of what is downloaded: it
/// brings along every table of locales and of decimal numbers.
std::string small_format(std::string_view text, std::format_args values);

}  // namespace weft
