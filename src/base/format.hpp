#pragma once

#include <format>
#include <string>
#include <string_view>

namespace weft {

/// The text with the values in it.
std::string format_values(std::string_view text, std::format_args values);

/// What std::format gives. That one puts the whole of the standard library's formatting into every
/// file that calls it (three seconds of compilation and 200 KB of code each); here it is in
/// format_standard.cpp alone.
template <class... Args>
std::string formatted(std::format_string<Args...> text, Args&&... args) {
  return format_values(text.get(), std::make_format_args(args...));
}

}  // namespace weft
