#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "ops/random/random.hpp"
#include "ops/random/threefry.hpp"

namespace weft::ops::random {

/// A distribution as numbers that kernels work with.
struct Numbers {
  float factor = 1;
  float offset = 0;
  float least =
      0;  ///< The result, or the standard normal number in front of factor and offset, is at
  float most = 0;             ///< least and at most this.
  std::uint32_t start = 0;    ///< The first word of a range of words, or the first whole number.
  std::uint32_t range = 0;    ///< How many there are; 0: 2^32.
  std::uint32_t dropped = 8;  ///< Bits of a word that the type of the result has no room for.
};

Numbers numbers_of(const Distribution& distribution, DType dtype);

/// The bits of element `index` (Args::first included): one word, or both for randint.
Pair block_of(Pair key, std::uint64_t index, std::uint32_t domain, Function function);

/// What kernels compute, step by step and bit by bit, on the host: floats before they are rounded
/// to a 16-bit type.
float draw_float(Function function, const Numbers& numbers, std::uint32_t word);
std::uint32_t draw_word(Function function, const Numbers& numbers, Pair block);

/// The logarithm that is added for weights.
float log_weight(float weight);

}  // namespace weft::ops::random
