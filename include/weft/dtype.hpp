#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

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
inline constexpr std::array all_dtypes{DType::f32, DType::f16,    DType::bf16, DType::i32,
                                       DType::u32, DType::i64,    DType::i16,  DType::i8,
                                       DType::u8,  DType::boolean};

/// Every quantized type.
inline constexpr std::array quantized_dtypes{
    DType::q1_0,  DType::q2_0,    DType::q4_0,  DType::q4_1,   DType::q5_0,    DType::q5_1,
    DType::q8_0,  DType::q8_1,    DType::q2_k,  DType::q3_k,   DType::q4_k,    DType::q5_k,
    DType::q6_k,  DType::q8_k,    DType::iq1_s, DType::iq1_m,  DType::iq2_xxs, DType::iq2_xs,
    DType::iq2_s, DType::iq3_xxs, DType::iq3_s, DType::iq4_nl, DType::iq4_xs,  DType::tq1_0,
    DType::tq2_0, DType::mxfp4,   DType::nvfp4};

namespace detail {
/// What there is to know about a type: its name, and how many elements share how many bytes.
struct DTypeFacts {
  std::string_view name;
  std::uint32_t block_elements;
  std::uint32_t block_bytes;
};
inline constexpr std::array<DTypeFacts, 37> dtype_facts{{
    {"f32", 1, 4},        {"f16", 1, 2},        {"bf16", 1, 2},       {"i32", 1, 4},
    {"u32", 1, 4},        {"i64", 1, 8},        {"i16", 1, 2},        {"i8", 1, 1},
    {"u8", 1, 1},         {"bool", 1, 1},       {"q1_0", 128, 18},    {"q2_0", 64, 18},
    {"q4_0", 32, 18},     {"q4_1", 32, 20},     {"q5_0", 32, 22},     {"q5_1", 32, 24},
    {"q8_0", 32, 34},     {"q8_1", 32, 36},     {"q2_K", 256, 84},    {"q3_K", 256, 110},
    {"q4_K", 256, 144},   {"q5_K", 256, 176},   {"q6_K", 256, 210},   {"q8_K", 256, 292},
    {"iq1_s", 256, 50},   {"iq1_m", 256, 56},   {"iq2_xxs", 256, 66}, {"iq2_xs", 256, 74},
    {"iq2_s", 256, 82},   {"iq3_xxs", 256, 98}, {"iq3_s", 256, 110},  {"iq4_nl", 32, 18},
    {"iq4_xs", 256, 136}, {"tq1_0", 256, 54},   {"tq2_0", 256, 66},   {"mxfp4", 32, 17},
    {"nvfp4", 64, 36},
}};
}  // namespace detail

/// Elements of one block of a quantized type; 1 for plain types.
constexpr std::uint32_t block_elements(DType type) {
  return detail::dtype_facts[std::to_underlying(type)].block_elements;
}

/// Bytes of one block of a quantized type, or of one element of a plain type.
constexpr std::uint32_t block_bytes(DType type) {
  return detail::dtype_facts[std::to_underlying(type)].block_bytes;
}

/// True for the types whose elements lie in blocks.
constexpr bool is_quantized(DType type) { return type >= DType::q1_0; }

/// Bytes of one element of a plain type. An element of a quantized type has none of its own; tensors of such types are
/// placed by bytes, so for these it is 1.
constexpr std::uint32_t size_of(DType type) { return is_quantized(type) ? 1 : block_bytes(type); }

/// True for f32, f16 and bf16.
constexpr bool is_float(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

/// True for the plain types that are neither floats nor booleans.
constexpr bool is_integer(DType type) {
  return !is_float(type) && !is_quantized(type) && type != DType::boolean;
}

/// True for u32, u8 and booleans, which have no negative values.
constexpr bool is_unsigned(DType type) {
  return type == DType::u32 || type == DType::u8 || type == DType::boolean;
}

/// The type that holds the values of both, for operations on two tensors (docs/types.md has the table). Where an integer and
/// a float meet, it is a float; where nothing holds all values of both, it is f32 or i64.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::boolean || is_quantized(b)) return b;
  if (b == DType::boolean || is_quantized(a)) return a;
  if (is_float(a) && is_float(b)) return DType::f32;
  if (is_float(a) || is_float(b)) {
    const DType real = is_float(a) ? a : b;
    const DType whole = is_float(a) ? b : a;
    return size_of(whole) == 1 ? real : DType::f32;
  }
  if (a == DType::i64 || b == DType::i64) return DType::i64;
  if (is_unsigned(a) == is_unsigned(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType positive = is_unsigned(a) ? a : b;
  const DType either = is_unsigned(a) ? b : a;
  if (positive == DType::u32) return DType::i64;
  return either == DType::i8 ? DType::i16 : either;
}

/// The name of a type as users write it, for example "bf16" or "q4_K".
constexpr std::string_view name(DType type) {
  return detail::dtype_facts[std::to_underlying(type)].name;
}

/// The type with that name, if there is one.
constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (std::size_t i = 0; i < detail::dtype_facts.size(); ++i) {
    if (detail::dtype_facts[i].name == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace weft
