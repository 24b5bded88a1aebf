#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/dtypes.hpp"  // IWYU pragma: export

namespace weft {

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

/// Bytes of one element of a plain type. An element of a quantized type has none of its own;
/// tensors of such types are placed by bytes, so for these it is 1.
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

/// The type that holds the values of both, for operations on two tensors (docs/types.md has the
/// table). Where an integer and a float meet, it is a float; where nothing holds all values of
/// both, it is f32 or i64.
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
