#pragma once

#include <string>
#include <string_view>

namespace weft {

/// A number in decimal digits, 0.d₁d₂d₃… · 10^point, exact. For pages, where it takes the place of
/// the standard library's functions between numbers and texts, which are long because they are
/// fast: this takes microseconds.
class Decimal {
 public:
  /// A finite number's magnitude.
  explicit Decimal(double value);
  /// "12.5e3": digits with at most one point among them, and an exponent.
  explicit Decimal(std::string_view text);

  /// Keeps `count` digits, 0 or more; what is half way goes to the even one.
  void round(int count);
  /// The double that is nearest, the even one of two; infinity where none is.
  double value() const;

  /// Without zeros at the end; none for zero. Where the point stands: value 0.digits · 10^point.
  const std::string& digits() const { return digits_; }
  int point() const { return point_; }

 private:
  void shift(int bits);  // Multiplies by 2^bits.
  void multiply(int bits);
  void divide(int bits);
  void trim();

  std::string digits_;
  int point_ = 0;
};

}  // namespace weft
