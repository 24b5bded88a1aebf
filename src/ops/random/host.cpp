// Compiled with -ffp-contract=off: every sum and product is rounded by itself, as in random.wgsl.
#include "ops/random/host.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "base/half.hpp"
#include "ops/random/tables.hpp"

namespace weft::ops::random {
namespace {

/// 2^-bits.
float power_down(std::uint32_t bits) { return std::bit_cast<float>((127U - bits) << 23U); }

float cubic(std::span<const std::uint32_t> table, std::uint32_t row, float x) {
  const auto c = [&](std::uint32_t i) { return std::bit_cast<float>(table[row * 4 + i]); };
  return ((c(3) * x + c(2)) * x + c(1)) * x + c(0);
}

/// The quantile of (m + 0.5) / 2^32 for m below 2^31.
float quantile(std::span<const std::uint32_t> table, std::uint32_t first_row, std::uint32_t m) {
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(m));
  const std::uint32_t shift = zeros > 27 ? 0 : 27 - zeros;
  const std::uint32_t rest = m - ((m >> shift) << shift);
  const std::uint32_t kept = std::min(shift, 23U);
  const float x = static_cast<float>(rest >> (shift - kept)) * power_down(kept);
  return cubic(table, first_row + shift * 16 + (m >> shift), x);
}

float standard_normal(std::uint32_t word) {
  const bool above = word >> 31U != 0;
  const float size = quantile(normal_table, 0, above ? ~word : word);
  return above ? size : -size;
}

float gumbel(std::uint32_t word) {
  const bool above = word >> 31U != 0;
  return quantile(gumbel_table, above ? 0 : quantile_rows, above ? ~word : word);
}

std::uint32_t high_product(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32U);
}

/// The largest number of a float type below `limit`.
float last_below(DType dtype, float limit) {
  const std::uint32_t dropped = dtype == DType::f16 ? 13 : dtype == DType::bf16 ? 16 : 0;
  float down = std::nextafter(limit, -std::numeric_limits<float>::infinity());
  // Away from 0 for negative numbers, where clearing digits would go up.
  auto bits = std::bit_cast<std::uint32_t>(down);
  const std::uint32_t digits = (1U << dropped) - 1;
  if (down < 0 && (bits & digits) != 0) bits += digits;
  bits &= ~digits;
  // Below its smallest normal number an f16 has fewer digits.
  if (dtype == DType::f16 && std::abs(std::bit_cast<float>(bits)) < 0x1p-14F) {
    return std::floor(down * 0x1p24F) * 0x1p-24F;
  }
  return std::bit_cast<float>(bits);
}

/// How many of 2^32 words have a normal number of at most z.
double words_below(double z) { return 0x1p32 * 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace

Numbers numbers_of(const Distribution& d, DType dtype) {
  Numbers out;
  switch (d.function) {
    case Function::uniform: {
      const std::uint32_t digits = dtype == DType::f16 ? 11 : dtype == DType::bf16 ? 8 : 24;
      out.dropped = 32 - digits;
      out.factor = static_cast<float>(d.high - d.low) * power_down(digits);
      out.offset = static_cast<float>(d.low);
      out.most = last_below(dtype, static_cast<float>(d.high));
      break;
    }
    case Function::truncated_normal: {
      const double below = std::floor(words_below(d.low));
      const double count = std::min(std::ceil(words_below(d.high)) - below, 0x1p32 - 1);
      out.start = static_cast<std::uint32_t>(std::min(below, 0x1p32 - 1));
      out.range = static_cast<std::uint32_t>(std::max(count, 1.0));
      out.least = static_cast<float>(std::max(d.low, -8.0));  // no number is that far out
      out.most = static_cast<float>(std::min(d.high, 8.0));
      [[fallthrough]];
    }
    case Function::normal:
      out.factor = static_cast<float>(d.std);
      out.offset = static_cast<float>(d.mean);
      break;
    case Function::randint:
      out.start = static_cast<std::uint32_t>(static_cast<std::int64_t>(d.low));
      out.range = static_cast<std::uint32_t>(static_cast<std::int64_t>(d.high - d.low));
      break;
    case Function::gumbel:
    case Function::bits: break;
  }
  return out;
}

Pair block_of(Pair key, std::uint64_t index, std::uint32_t domain, Function function) {
  const std::uint64_t block = function == Function::randint ? index : index / 2;
  const Pair both = threefry(
      key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32U) ^ domain});
  if (function == Function::randint) return both;
  return {both[index % 2], 0};
}

float draw_float(Function function, const Numbers& n, std::uint32_t word) {
  switch (function) {
    case Function::uniform:
      return std::min(static_cast<float>(word >> n.dropped) * n.factor + n.offset, n.most);
    case Function::truncated_normal: {
      const float z = standard_normal(n.start + high_product(word, n.range));
      return std::min(std::max(z, n.least), n.most) * n.factor + n.offset;
    }
    case Function::normal: return standard_normal(word) * n.factor + n.offset;
    default: return gumbel(word);
  }
}

std::uint32_t draw_word(Function function, const Numbers& n, Pair block) {
  if (function == Function::bits) return block[0];
  if (n.range == 0) return n.start + block[0];
  // The whole part of range · (block as a fraction of 64 bits): a bias of at most 2^-32.
  const std::uint32_t low = block[0] * n.range;
  const std::uint32_t sum = low + high_product(block[1], n.range);
  return n.start + high_product(block[0], n.range) + (sum < low ? 1U : 0U);
}

float log_weight(float weight) {
  const auto bits = std::bit_cast<std::uint32_t>(weight);
  if (bits < 0x00800000U || bits >= 0x7f800000U) return std::numeric_limits<float>::lowest() / 2;
  const float power = static_cast<float>(static_cast<std::int32_t>(bits >> 23U) - 127);
  const float x = static_cast<float>(bits & 0x7ffffU) * power_down(19);
  const std::uint32_t row = 2 * quantile_rows + ((bits >> 19U) & 15U);
  return power * 0.693147182F + cubic(gumbel_table, row, x);
}

}  // namespace weft::ops::random
