#include "ops/quant/random.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.hpp"
#include "ops/case.hpp"

namespace weft::ops::quant {
namespace {

/// Where a block keeps its f16 scales, and the largest factor that these are multiplied with.
struct Scales {
  int first = -1;
  int second = -1;
  double factor = 1;
};

Scales scales_of(DType type) {
  switch (type) {
    case DType::q1_0:
    case DType::tq1_0:
    case DType::tq2_0: return {type == DType::q1_0 ? 0 : type == DType::tq1_0 ? 52 : 64, -1, 1};
    case DType::q2_0: return {0, -1, 2};
    case DType::q4_0: return {0, -1, 8};
    case DType::q4_1: return {0, 2, 15};
    case DType::q5_0: return {0, -1, 16};
    case DType::q5_1: return {0, 2, 31};
    case DType::q8_0: return {0, -1, 128};
    case DType::q8_1: return {0, 2, 128};
    case DType::q2_k: return {80, 82, 45};
    case DType::q3_k: return {108, -1, 128};
    case DType::q4_k: return {0, 2, 945};
    case DType::q5_k: return {0, 2, 1953};
    case DType::q6_k: return {208, -1, 4096};
    case DType::iq1_s: return {0, -1, 17};
    case DType::iq2_xxs:
    case DType::iq2_xs:
    case DType::iq2_s: return {0, -1, 167};
    case DType::iq3_xxs: return {0, -1, 480};
    case DType::iq3_s: return {0, -1, 465};
    case DType::iq4_nl: return {0, -1, 127};
    case DType::iq4_xs: return {0, -1, 4064};
    default: return {};
  }
}

void put16(std::byte* at, std::uint16_t value) { std::memcpy(at, &value, 2); }

void fix_scales(DType type, std::byte* block, double size, Random& random) {
  const auto half = [&](double factor) {
    return f16_bits(static_cast<float>(size * random.uniform(0.3, 1) / factor));
  };
  const Scales scales = scales_of(type);
  if (scales.first >= 0) put16(block + scales.first, half(scales.factor));
  if (scales.second >= 0) put16(block + scales.second, half(63));
  if (type == DType::q8_k) {
    const auto d = static_cast<float>(size * random.uniform(0.3, 1) / 128);
    std::memcpy(block, &d, 4);
  }
  // Exponents are powers of two near size / 6.
  if (type == DType::mxfp4) {
    const int exponent = static_cast<int>(std::floor(std::log2(size))) - 2 + 127;
    block[0] = static_cast<std::byte>(static_cast<std::uint64_t>(exponent) - random.between(0, 2));
  }
  if (type == DType::nvfp4) {
    const int exponent = static_cast<int>(std::floor(std::log2(size))) - 3 + 7;
    for (int i = 0; i < 4; ++i) {
      block[i] = static_cast<std::byte>(static_cast<std::uint64_t>(std::max(exponent, 0)) * 8 +
                                        random.between(0, 7));
    }
  }
  if (type == DType::iq1_m) {  // the scale lies in the upper four bits of four words
    const std::uint32_t bits = half(17);
    for (std::size_t i = 0; i < 4; ++i) {
      auto& high = block[49 + 2 * i];
      high = (high & std::byte{15}) | static_cast<std::byte>(((bits >> (4 * i)) & 15U) << 4);
    }
  }
}

}  // namespace

std::vector<std::byte> random_blocks(DType type, std::uint64_t count, double size, Random& random) {
  std::vector<std::byte> blocks(count * block_bytes(type));
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.next() >> 56);
  for (std::uint64_t i = 0; i < count; ++i) {
    fix_scales(type, blocks.data() + i * block_bytes(type), size, random);
  }
  return blocks;
}

}  // namespace weft::ops::quant
