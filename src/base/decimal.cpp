#include "base/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft {
namespace {

// Doubles have at most 767 digits; a longer text's rest only tells whether there is more.
constexpr std::size_t most_digits = 800;
// Beyond these there is nothing but infinity and zero.
constexpr int largest_point = 310;
constexpr int smallest_point = -330;
// That a digit may be multiplied with at once.
constexpr int most_bits = 50;

}  // namespace

Decimal::Decimal(double value) {
  int exponent = 0;
  const double part = std::frexp(std::abs(value), &exponent);
  digits_ = std::to_string(static_cast<std::uint64_t>(std::ldexp(part, 53)));
  point_ = static_cast<int>(digits_.size());
  trim();
  shift(exponent - 53);
}

Decimal::Decimal(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  bool fraction = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    if (digits_.empty() && c == '0') {
      if (fraction) --point_;
      continue;
    }
    if (!fraction) ++point_;
    if (digits_.size() < most_digits) {
      digits_ += c;
    } else if (c != '0') {
      digits_.back() = '1';  // Too far behind to matter, but for what is half way otherwise.
    }
  }
  if (e < text.size()) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    int number = 0;
    const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), number);
    constexpr int far = 100'000'000;
    if (error != std::errc{}) number = power.starts_with('-') ? -far : far;
    point_ += std::clamp(number, -far, far);
  }
  trim();
}

void Decimal::trim() {
  while (digits_.ends_with('0')) digits_.pop_back();
  if (digits_.empty()) point_ = 0;
}

void Decimal::shift(int bits) {
  for (; bits > 0; bits -= std::min(bits, most_bits)) multiply(std::min(bits, most_bits));
  for (; bits < 0; bits += std::min(-bits, most_bits)) divide(std::min(-bits, most_bits));
}

void Decimal::multiply(int bits) {
  std::uint64_t carry = 0;
  for (std::size_t i = digits_.size(); i-- > 0;) {
    const std::uint64_t sum = (static_cast<std::uint64_t>(digits_[i] - '0') << bits) + carry;
    carry = sum / 10;
    digits_[i] = static_cast<char>('0' + sum % 10);
  }
  if (carry != 0) {
    const std::string front = std::to_string(carry);
    digits_.insert(0, front);
    point_ += static_cast<int>(front.size());
  }
  trim();
}

void Decimal::divide(int bits) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < digits_.size() || rest != 0; ++i) {
    if (i == digits_.size()) digits_ += '0';
    rest = rest * 10 + static_cast<std::uint64_t>(digits_[i] - '0');
    digits_[i] = static_cast<char>('0' + (rest >> bits));
    rest &= mask;
  }
  const std::size_t zeros = std::min(digits_.find_first_not_of('0'), digits_.size());
  digits_.erase(0, zeros);
  point_ -= static_cast<int>(zeros);
}

void Decimal::round(int count) {
  const auto kept = static_cast<std::size_t>(count);
  if (kept >= digits_.size()) return;
  const bool odd = kept > 0 && (digits_[kept - 1] - '0') % 2 != 0;
  const bool is_half = digits_[kept] == '5' && digits_.size() == kept + 1;
  const bool up = is_half ? odd : digits_[kept] >= '5';
  digits_.resize(kept);
  if (up) {
    while (digits_.ends_with('9')) digits_.pop_back();
    if (digits_.empty()) {
      digits_ = "1";
      ++point_;
    } else {
      ++digits_.back();
    }
  }
  trim();
}

double Decimal::value() const {
  if (digits_.empty() || point_ < smallest_point) return 0;
  if (point_ > largest_point) return std::numeric_limits<double>::infinity();
  // The number as 0.… · 2^exponent, and then its first 53 bits, or fewer where doubles end.
  Decimal part = *this;
  int exponent = 0;
  while (part.point_ > 0 || part.point_ < 0 || part.digits_[0] < '5') {
    // A digit has more than three bits.
    const int bits =
        part.point_ > 0 ? -std::max(1, 3 * part.point_ - 3) : std::max(1, -3 * part.point_);
    part.shift(bits);
    exponent -= bits;
  }
  constexpr int bits = 53;
  constexpr int least = std::numeric_limits<double>::min_exponent;
  const int count = exponent < least ? bits - (least - exponent) : bits;
  part.shift(count);
  if (part.point_ < 0) return 0;
  part.round(part.point_);
  std::uint64_t whole = 0;
  for (int i = 0; i < part.point_; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const char digit = at < part.digits_.size() ? part.digits_[at] : '0';
    whole = whole * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return std::ldexp(static_cast<double>(whole), exponent - count);
}

}  // namespace weft
