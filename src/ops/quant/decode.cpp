// The reference decoders: one value at a time, straight from the layout of each block.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/half.hpp"
#include "ops/quant/codec.hpp"
#include "ops/quant/tables.hpp"

namespace weft::ops::quant {
namespace {

/// One block, read by byte position.
struct Block {
  const std::byte* data;

  [[nodiscard]] std::uint32_t u8(std::size_t at) const {
    return std::to_integer<std::uint32_t>(data[at]);
  }
  [[nodiscard]] int i8(std::size_t at) const { return static_cast<std::int8_t>(u8(at)); }
  [[nodiscard]] std::uint32_t u16(std::size_t at) const { return u8(at) | (u8(at + 1) << 8); }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const { return u16(at) | (u16(at + 2) << 16); }
  [[nodiscard]] float half(std::size_t at) const {
    return f32_from_f16(static_cast<std::uint16_t>(u16(at)));
  }
  /// Bits `first` … `first + count - 1`, counted from byte `at`; they lie in one byte.
  [[nodiscard]] int bits(std::size_t at, std::size_t first, std::uint32_t count) const {
    return static_cast<int>((u8(at + first / 8) >> (first % 8)) & ((1U << count) - 1));
  }
  /// Four bits of the byte that elements i and i + 16 share.
  [[nodiscard]] int nibble(std::size_t at, std::size_t i) const {
    return bits(at + i % 16, i / 16 * 4, 4);
  }
};

float plain(DType type, const Block& b, std::size_t i) {
  const float d = b.half(0);
  switch (type) {
    case DType::q1_0: return b.bits(2, i, 1) != 0 ? d : -d;
    case DType::q2_0: return static_cast<float>(b.bits(2, i * 2, 2) - 1) * d;
    case DType::q4_0: return static_cast<float>(b.nibble(2, i) - 8) * d;
    case DType::q4_1: return static_cast<float>(b.nibble(4, i)) * d + b.half(2);
    case DType::q5_0: return static_cast<float>((b.nibble(6, i) | (b.bits(2, i, 1) << 4)) - 16) * d;
    case DType::q5_1:
      return static_cast<float>(b.nibble(8, i) | (b.bits(4, i, 1) << 4)) * d + b.half(2);
    case DType::q8_0: return static_cast<float>(b.i8(2 + i)) * d;
    case DType::q8_1: return static_cast<float>(b.i8(4 + i)) * d;
    case DType::q8_k: return std::bit_cast<float>(b.u32(0)) * static_cast<float>(b.i8(4 + i));
    default: return 0;
  }
}

/// Scale and minimum number j of q4_K and q5_K.
std::pair<int, int> scale_and_min(const Block& b, std::size_t j) {
  if (j < 4) return {b.bits(4 + j, 0, 6), b.bits(8 + j, 0, 6)};
  return {b.bits(8 + j, 0, 4) | (b.bits(j, 6, 2) << 4),
          b.bits(8 + j, 4, 4) | (b.bits(4 + j, 6, 2) << 4)};
}

float k_quant(DType type, const Block& b, std::size_t i) {
  const std::size_t half = i / 128;
  const std::size_t quarter = i % 128 / 32;
  const std::size_t byte = i % 32;
  switch (type) {
    case DType::q2_k: {
      const int q = b.bits(16 + half * 32 + byte, quarter * 2, 2);
      return b.half(80) * static_cast<float>(b.bits(i / 16, 0, 4)) * static_cast<float>(q) -
             b.half(82) * static_cast<float>(b.bits(i / 16, 4, 4));
    }
    case DType::q3_k: {
      const std::size_t s = i / 16;
      const int low = b.bits(96 + s % 8, s / 8 * 4, 4);
      const int scale = (low | (b.bits(104 + s % 4, s / 4 * 2, 2) << 4)) - 32;
      const int q = b.bits(32 + half * 32 + byte, quarter * 2, 2);
      const int high = b.bits(byte, i / 32, 1);
      return b.half(108) * static_cast<float>(scale) * static_cast<float>(q - (1 - high) * 4);
    }
    case DType::q4_k:
    case DType::q5_k: {
      const auto [scale, min] = scale_and_min(b, i / 32);
      const std::size_t qs = type == DType::q4_k ? 16 : 48;
      int q = b.bits(qs + i / 64 * 32 + byte, i / 32 % 2 * 4, 4);
      if (type == DType::q5_k) q |= b.bits(16 + byte, i / 32, 1) << 4;
      return b.half(0) * static_cast<float>(scale) * static_cast<float>(q) -
             b.half(2) * static_cast<float>(min);
    }
    case DType::q6_k: {
      const int low = b.bits(half * 64 + quarter % 2 * 32 + byte, quarter / 2 * 4, 4);
      const int high = b.bits(128 + half * 32 + byte, quarter * 2, 2);
      return b.half(208) * static_cast<float>(b.i8(192 + i / 16)) *
             static_cast<float>((low | (high << 4)) - 32);
    }
    default: return 0;
  }
}

float ternary(DType type, const Block& b, std::size_t i) {
  if (type == DType::tq2_0) {
    const int q = b.bits(i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2);
    return static_cast<float>(q - 1) * b.half(64);
  }
  constexpr std::array<std::uint32_t, 5> power{1, 3, 9, 27, 81};
  std::size_t byte = i % 32;
  std::size_t digit = i / 32;
  if (i >= 240) {
    byte = 48 + i % 4;
    digit = (i - 240) / 4;
  } else if (i >= 160) {
    byte = 32 + i % 16;
    digit = (i - 160) / 16;
  }
  const std::uint32_t turned = (b.u8(byte) * power[digit]) & 255;
  return static_cast<float>(static_cast<int>((turned * 3) >> 8) - 1) * b.half(52);
}

float nonlinear(DType type, const Block& b, std::size_t i) {
  const auto level = [](const auto& table, int code) {
    return static_cast<float>(table[static_cast<std::size_t>(code)]);
  };
  switch (type) {
    case DType::mxfp4:
      return level(fp4_values, b.nibble(1, i)) * std::ldexp(1.0F, static_cast<int>(b.u8(0)) - 128);
    case DType::nvfp4: {
      const int q = b.bits(4 + i / 16 * 8 + i % 8, i % 16 / 8 * 4, 4);
      return level(fp4_values, q) * half_of_ue4m3(static_cast<std::uint8_t>(b.u8(i / 16)));
    }
    case DType::iq4_nl: return b.half(0) * level(iq4_values, b.nibble(2, i));
    case DType::iq4_xs: {
      const std::size_t group = i / 32;
      const int low = b.bits(4 + group / 2, group % 2 * 4, 4);
      const int high = static_cast<int>((b.u16(2) >> (2 * group)) & 3);
      return b.half(0) * static_cast<float>((low | (high << 4)) - 32) *
             level(iq4_values, b.nibble(8 + group * 16, i % 32));
    }
    default: return 0;
  }
}

float sign_of(std::uint32_t signs, std::size_t bit) { return (signs >> bit & 1U) != 0 ? -1 : 1; }
/// Seven signs, and an eighth that makes the number of set bits even.
std::uint32_t even_signs(std::uint32_t bits) {
  return (bits & 127U) | ((static_cast<std::uint32_t>(std::popcount(bits & 127U)) & 1U) << 7);
}

float codebook2(DType type, const Block& b, std::size_t i) {
  const std::size_t group = i / 32;
  const std::size_t run = i / 8 % 4;  // of the group
  std::uint32_t entry = 0;
  std::uint32_t signs = 0;
  std::uint32_t scale = 0;
  std::span<const std::uint32_t> grid = codebook_of(type);
  if (type == DType::iq2_xxs) {
    const std::uint32_t more = b.u32(6 + group * 8);
    entry = b.u8(2 + group * 8 + run);
    signs = even_signs(more >> (7 * run));
    scale = more >> 28;
  } else if (type == DType::iq2_xs) {
    const std::uint32_t q = b.u16(2 + i / 8 * 2);
    entry = q & 511U;
    signs = even_signs(q >> 9);
    scale = static_cast<std::uint32_t>(b.bits(66 + group, run / 2 * 4, 4));
  } else {
    entry = b.u8(2 + i / 8) | static_cast<std::uint32_t>(b.bits(66 + group, run * 2, 2)) << 8;
    signs = b.u8(34 + i / 8);
    scale = static_cast<std::uint32_t>(b.bits(74 + group, run / 2 * 4, 4));
  }
  constexpr std::array<float, 4> sizes{8, 25, 43, 0};
  const float size = sizes[level_of(grid, entry, i % 8, 2)];
  return b.half(0) * (0.5F + static_cast<float>(scale)) * 0.25F * size * sign_of(signs, i % 8);
}

float codebook3(DType type, const Block& b, std::size_t i) {
  const std::size_t group = i / 32;
  const std::size_t run = i / 8 % 4;
  const std::size_t half = i / 4 % 2;  // of the run
  if (type == DType::iq3_xxs) {
    const std::uint32_t more = b.u32(66 + group * 4);
    const std::uint32_t level = level_of(iq3_xxs_grid, b.u8(2 + i / 4), i % 4, 3);
    constexpr std::array<float, 8> sizes{4, 12, 20, 28, 36, 44, 52, 62};
    return b.half(0) * (0.5F + static_cast<float>(more >> 28)) * 0.5F * sizes[level] *
           sign_of(even_signs(more >> (7 * run)), i % 8);
  }
  const auto high = static_cast<std::uint32_t>(b.bits(66 + group, run * 2 + half, 1));
  const std::uint32_t level = level_of(iq3_s_grid, b.u8(2 + i / 4) | (high << 8), i % 4, 3);
  const int scale = b.bits(106 + group / 2, group % 2 * 4, 4);
  return b.half(0) * static_cast<float>(1 + 2 * scale) * static_cast<float>(1 + 2 * level) *
         sign_of(b.u8(74 + i / 8), i % 8);
}

float codebook1(DType type, const Block& b, std::size_t i) {
  const std::size_t group = i / 32;
  const std::size_t run = i / 8 % 4;
  float d = 0;
  std::uint32_t scale = 0;
  std::uint32_t entry = 0;
  bool down = false;
  if (type == DType::iq1_s) {
    const std::uint32_t more = b.u16(34 + group * 2);
    d = b.half(0);
    scale = (more >> 12) & 7U;
    entry = b.u8(2 + i / 8) | ((more >> (3 * run)) & 7U) << 8;
    down = (more & 0x8000U) != 0;
  } else {
    std::uint32_t bits = 0;
    for (std::size_t s = 0; s < 4; ++s) bits |= (b.u16(48 + s * 2) >> 12) << (4 * s);
    d = f32_from_f16(static_cast<std::uint16_t>(bits));
    scale = (b.u16(48 + group / 2 * 2) >> (6 * (group % 2) + 3 * (run / 2))) & 7U;
    const auto high = static_cast<std::uint32_t>(b.bits(32 + i / 16, run % 2 * 4, 4));
    entry = b.u8(i / 8) | (high & 7U) << 8;
    down = (high & 8U) != 0;
  }
  const auto level = static_cast<float>(level_of(iq1_grid, entry, i % 8, 2)) - 1;
  return d * static_cast<float>(2 * scale + 1) * (level + (down ? -0.125F : 0.125F));
}

using Decoder = float (*)(DType, const Block&, std::size_t);

Decoder decoder_of(DType type) {
  switch (type) {
    case DType::q2_k:
    case DType::q3_k:
    case DType::q4_k:
    case DType::q5_k:
    case DType::q6_k: return k_quant;
    case DType::tq1_0:
    case DType::tq2_0: return ternary;
    case DType::mxfp4:
    case DType::nvfp4:
    case DType::iq4_nl:
    case DType::iq4_xs: return nonlinear;
    case DType::iq1_s:
    case DType::iq1_m: return codebook1;
    case DType::iq2_xxs:
    case DType::iq2_xs:
    case DType::iq2_s: return codebook2;
    case DType::iq3_xxs:
    case DType::iq3_s: return codebook3;
    default: return plain;
  }
}

}  // namespace

void dequantize(DType type, std::span<const std::byte> blocks, std::span<float> values) {
  const std::size_t elements = block_elements(type);
  const Decoder decode = decoder_of(type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Block block{blocks.data() + i / elements * block_bytes(type)};
    values[i] = decode(type, block, i % elements);
  }
}

}  // namespace weft::ops::quant
