#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace weft::nn {

/// A small reproducible random generator (splitmix64). Streams with different names are independent
/// of each other, so that what one part draws does not depend on how much another part drew before
/// it.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::string_view stream = {}, std::uint64_t index = 0)
      : state_(seed) {
    for (const char c : stream) {
      state_ = next() ^ static_cast<std::uint8_t>(c);
    }
    state_ = next() ^ index;
    state_ = next();
  }

  /// 64 random bits.
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  /// A whole number below `limit`, which is not 0; the bias of the remainder is below 2⁻³² for
  /// limits below 2³².
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// Normal with mean 0 and variance 1.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft::nn
