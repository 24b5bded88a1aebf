#include <cstdlib>
#include <string>

#include "base/number.hpp"

// In the place of number_standard.cpp, for pages, which have no locales.

namespace weft {

std::optional<double> parse_number(std::string_view text) {
  const std::string copy(text);
  if (copy.empty() || copy.find_first_not_of("0123456789.eE+-") != std::string::npos ||
      copy.front() == '+') {
    return std::nullopt;
  }
  char* rest = nullptr;
  const double value = std::strtod(copy.c_str(), &rest);
  if (rest != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

}  // namespace weft
