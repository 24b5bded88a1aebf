#include <charconv>
#include <system_error>

#include "base/number.hpp"

namespace weft {

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || rest != last) return std::nullopt;
  return value;
}

}  // namespace weft
