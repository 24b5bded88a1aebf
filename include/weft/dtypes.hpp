// Written by tools/describe from description/*.toml.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// Element types of tensors. 8- and 16-bit elements lie packed in 32-bit words, i64 takes two, and a boolean is a byte of 0
/// or 1. The types from q1_0 on are quantized: their elements lie in blocks that share scales, in the formats of GGUF files.
enum class DType : std::uint8_t {
  f32,
  f16,
  bf16,
  i32,
  u32,
  i64,
  i16,
  i8,
  u8,
  boolean,
  q1_0,
  q2_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q8_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  iq4_nl,
  iq4_xs,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
};

/// Every plain element type, for tables and loops.
inline constexpr std::array all_dtypes{
    DType::f32,
    DType::f16,
    DType::bf16,
    DType::i32,
    DType::u32,
    DType::i64,
    DType::i16,
    DType::i8,
    DType::u8,
    DType::boolean,
};

/// Every quantized type.
inline constexpr std::array quantized_dtypes{
    DType::q1_0,
    DType::q2_0,
    DType::q4_0,
    DType::q4_1,
    DType::q5_0,
    DType::q5_1,
    DType::q8_0,
    DType::q8_1,
    DType::q2_k,
    DType::q3_k,
    DType::q4_k,
    DType::q5_k,
    DType::q6_k,
    DType::q8_k,
    DType::iq1_s,
    DType::iq1_m,
    DType::iq2_xxs,
    DType::iq2_xs,
    DType::iq2_s,
    DType::iq3_xxs,
    DType::iq3_s,
    DType::iq4_nl,
    DType::iq4_xs,
    DType::tq1_0,
    DType::tq2_0,
    DType::mxfp4,
    DType::nvfp4,
};

namespace detail {
/// What there is to know about a type: its name, and how many elements share how many bytes.
struct DTypeFacts {
  std::string_view name;
  std::uint32_t block_elements;
  std::uint32_t block_bytes;
};
inline constexpr std::array dtype_facts{
    DTypeFacts{"f32", 1, 4},
    DTypeFacts{"f16", 1, 2},
    DTypeFacts{"bf16", 1, 2},
    DTypeFacts{"i32", 1, 4},
    DTypeFacts{"u32", 1, 4},
    DTypeFacts{"i64", 1, 8},
    DTypeFacts{"i16", 1, 2},
    DTypeFacts{"i8", 1, 1},
    DTypeFacts{"u8", 1, 1},
    DTypeFacts{"bool", 1, 1},
    DTypeFacts{"q1_0", 128, 18},
    DTypeFacts{"q2_0", 64, 18},
    DTypeFacts{"q4_0", 32, 18},
    DTypeFacts{"q4_1", 32, 20},
    DTypeFacts{"q5_0", 32, 22},
    DTypeFacts{"q5_1", 32, 24},
    DTypeFacts{"q8_0", 32, 34},
    DTypeFacts{"q8_1", 32, 36},
    DTypeFacts{"q2_K", 256, 84},
    DTypeFacts{"q3_K", 256, 110},
    DTypeFacts{"q4_K", 256, 144},
    DTypeFacts{"q5_K", 256, 176},
    DTypeFacts{"q6_K", 256, 210},
    DTypeFacts{"q8_K", 256, 292},
    DTypeFacts{"iq1_s", 256, 50},
    DTypeFacts{"iq1_m", 256, 56},
    DTypeFacts{"iq2_xxs", 256, 66},
    DTypeFacts{"iq2_xs", 256, 74},
    DTypeFacts{"iq2_s", 256, 82},
    DTypeFacts{"iq3_xxs", 256, 98},
    DTypeFacts{"iq3_s", 256, 110},
    DTypeFacts{"iq4_nl", 32, 18},
    DTypeFacts{"iq4_xs", 256, 136},
    DTypeFacts{"tq1_0", 256, 54},
    DTypeFacts{"tq2_0", 256, 66},
    DTypeFacts{"mxfp4", 32, 17},
    DTypeFacts{"nvfp4", 64, 36},
};
}  // namespace detail

}  // namespace weft
