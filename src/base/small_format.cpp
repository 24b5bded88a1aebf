#include "base/small_format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "base/decimal.hpp"

namespace weft {
namespace {

/// What stands behind the colon.
struct Spec {
  char fill = ' ';
  char align = 0;  ///< '<', '>', '^', or 0: texts to the left, numbers to the right.
  bool prefix = false;
  bool zeros = false;
  std::size_t width = 0;
  int precision = -1;
  char type = 0;
};

std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// A width or precision: digits, or "{}" for the next value.
template <class Next>
std::size_t take_size(std::string_view& text, const Next& next) {
  if (!text.starts_with("{}")) return take_number(text);
  text.remove_prefix(2);
  return next();
}

/// `next` gives the next value, where a width or a precision is one.
template <class Next>
Spec parse(std::string_view text, const Next& next) {
  Spec spec;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  const auto take = [&](char c) {
    const bool found = !text.empty() && text.front() == c;
    if (found) text.remove_prefix(1);
    return found;
  };
  if (text.size() > 1 && is_align(text[1])) {
    spec.fill = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  spec.prefix = take('#');
  spec.zeros = take('0');
  spec.width = take_size(text, next);
  if (take('.')) spec.precision = static_cast<int>(take_size(text, next));
  if (!text.empty()) spec.type = text.front();
  return spec;
}

std::string digits_of(const Decimal& number, std::size_t count) {
  std::string text = number.digits();
  text.resize(count, '0');
  return text;
}

/// "d.ddde±xx", with so many digits behind the point.
std::string scientific(Decimal number, int decimals) {
  number.round(decimals + 1);
  std::string text = digits_of(number, static_cast<std::size_t>(decimals) + 1);
  if (decimals > 0) text.insert(1, ".");
  const int exponent = number.digits().empty() ? 0 : number.point() - 1;
  const std::string power = std::to_string(std::abs(exponent));
  return text + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
}

/// "ddd.ddd", with so many digits behind the point.
std::string fixed(Decimal number, int decimals) {
  const int count = number.point() + decimals;
  if (count < 0) number = Decimal(0.0);
  number.round(std::max(0, count));
  const int point = number.point();
  const auto before = static_cast<std::size_t>(std::max(point, 1));
  const auto zeros = static_cast<std::size_t>(std::max(1 - point, 0));
  std::string text(zeros, '0');
  text += number.digits();
  text.resize(before + static_cast<std::size_t>(decimals), '0');
  if (decimals > 0) text.insert(before, ".");
  return text;
}

/// The shorter of both with so many digits at most, as printf's %g has it.
std::string general(Decimal number, int digits) {
  digits = std::max(digits, 1);
  number.round(digits);
  const int exponent = number.digits().empty() ? 0 : number.point() - 1;
  const int left = std::max(0, static_cast<int>(number.digits().size()) - 1);
  if (exponent < -4 || exponent >= digits) return scientific(number, left);
  return fixed(number, std::max(0, left - exponent));
}

/// The fewest digits that give the number back.
template <std::floating_point T>
Decimal shortest(T value) {
  const Decimal exact(static_cast<double>(value));
  for (int count = 1; count < 17; ++count) {
    Decimal some = exact;
    some.round(count);
    if (static_cast<T>(some.value()) == value) return some;
  }
  Decimal most = exact;
  most.round(17);
  return most;
}

/// As std::to_chars writes it: with an exponent only where that is shorter.
template <std::floating_point T>
std::string plain(T value) {
  const Decimal number = shortest(value);
  const int digits = static_cast<int>(number.digits().size());
  const std::string with_exponent = scientific(number, std::max(0, digits - 1));
  const int decimals = std::max(0, digits - number.point());
  // Whole numbers of more digits than doubles have are written in full.
  std::string text =
      decimals > 0 ? fixed(number, decimals) : fixed(Decimal(static_cast<double>(value)), 0);
  return text.size() <= with_exponent.size() ? text : with_exponent;
}

template <std::floating_point T>
std::string number_text(T value, const Spec& spec) {
  const std::string sign = std::signbit(value) ? "-" : "";
  if (!std::isfinite(value)) return sign + (std::isnan(value) ? "nan" : "inf");
  value = std::abs(value);
  if (spec.type == 0 && spec.precision < 0) return sign + plain(value);
  const Decimal number(static_cast<double>(value));
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (spec.type == 'e') return sign + scientific(number, precision);
  if (spec.type == 'f') return sign + fixed(number, precision);
  return sign + general(number, precision);
}

template <std::integral T>
std::string number_text(T value, const Spec& spec) {
  std::array<char, 72> digits{};
  const bool hex = spec.type == 'x' || spec.type == 'X';
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  std::string text(digits.data(), end);
  if (hex && spec.prefix) text.insert(text.starts_with('-') ? 1 : 0, "0x");
  if (spec.type == 'X') {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

/// Fills a text up to its width; characters of UTF-8 count as one.
std::string fill(std::string text, const Spec& spec, bool number) {
  std::size_t length = 0;
  for (const char c : text) length += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  if (length >= spec.width) return text;
  const std::size_t missing = spec.width - length;
  if (number && spec.zeros && spec.align == 0) {
    std::size_t at = text.starts_with('-') ? 1 : 0;
    if (text.substr(at).starts_with("0x") || text.substr(at).starts_with("0X")) at += 2;
    return text.insert(at, missing, '0');
  }
  const char align = spec.align != 0 ? spec.align : number ? '>' : '<';
  const std::size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  return std::string(before, spec.fill) + text + std::string(missing - before, spec.fill);
}

template <class T>
std::string one_value(const T& value, const Spec& spec) {
  if constexpr (std::same_as<T, bool>) {
    if (spec.type == 0 || spec.type == 's') return fill(value ? "true" : "false", spec, false);
    return fill(number_text(static_cast<int>(value), spec), spec, true);
  } else if constexpr (std::same_as<T, char>) {
    if (spec.type == 0 || spec.type == 'c') return fill(std::string(1, value), spec, false);
    return fill(number_text(static_cast<int>(value), spec), spec, true);
  } else if constexpr (std::same_as<T, long double>) {
    return fill(number_text(static_cast<double>(value), spec), spec, true);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return fill(number_text(value, spec), spec, true);
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    std::string_view text = value;
    if (spec.precision >= 0) text = text.substr(0, static_cast<std::size_t>(spec.precision));
    return fill(std::string(text), spec, false);
  } else if constexpr (std::convertible_to<T, const void*>) {
    const Spec hex{.prefix = true, .type = 'x'};
    return fill(number_text(reinterpret_cast<std::uintptr_t>(value), hex), spec, true);
  } else {
    return "?";  // Of a type that has a formatter of its own: the library has none.
  }
}

/// A value that is a width or a precision.
std::size_t size_value(const std::basic_format_arg<std::format_context>& value) {
  return std::visit_format_arg(
      []<class T>(const T& number) -> std::size_t {
        if constexpr (std::integral<T>) return static_cast<std::size_t>(number);
        return 0;
      },
      value);
}

}  // namespace

std::string small_format(std::string_view text, std::format_args values) {
  std::string out;
  std::size_t next = 0;
  while (!text.empty()) {
    const std::size_t brace = std::min(text.find_first_of("{}"), text.size());
    out += text.substr(0, brace);
    text.remove_prefix(brace);
    if (text.empty()) break;
    if (text.size() > 1 && text[1] == text[0]) {  // A brace.
      out += text[0];
      text.remove_prefix(2);
      continue;
    }
    std::size_t end = text.find('}');
    while (end < text.size() && text.substr(1, end - 1).ends_with('{')) {
      end = text.find('}', end + 1);
    }
    std::string_view field = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    std::string_view index = field.substr(0, colon);
    const std::size_t which = index.empty() ? next++ : take_number(index);
    const auto size = [&] { return size_value(values.get(next++)); };
    const Spec spec = parse(field.substr(std::min(colon + 1, field.size())), size);
    out += std::visit_format_arg([&](const auto& value) { return one_value(value, spec); },
                                 values.get(which));
  }
  return out;
}

}  // namespace weft
