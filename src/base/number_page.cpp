#include <cmath>
#include <string>

#include "base/decimal.hpp"
#include "base/number.hpp"

// In the place of number_standard.cpp, for pages, which have no locales.

namespace weft {
namespace {

/// How many digits a text begins with; takes them away.
std::size_t take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::string_view rest = text;
  std::size_t digits = take_digits(rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    digits += take_digits(rest);
  }
  if (digits == 0) return std::nullopt;
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
    if (take_digits(rest) == 0) return std::nullopt;
  }
  if (!rest.empty()) return std::nullopt;
  const Decimal number(text);
  const double value = number.value();
  // What no double is near to is none either.
  if (!std::isfinite(value) || (value == 0 && !number.digits().empty())) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace weft
