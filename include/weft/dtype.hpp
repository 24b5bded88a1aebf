#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// Element types of tensors. 8- and 16-bit elements lie packed in 32-bit words, i64 takes two.
enum class DType : std::uint8_t { f32, f16, bf16, i32, u32, i64, i8, u8 };

/// Every element type, for tables and loops.
inline constexpr std::array all_dtypes{DType::f32, DType::f16, DType::bf16, DType::i32,
                                       DType::u32, DType::i64, DType::i8,   DType::u8};

/// Bytes of one element.
constexpr std::uint32_t size_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::i64: return 8;
    case DType::i8:
    case DType::u8: return 1;
  }
  return 0;
}

/// True for f32, f16 and bf16.
constexpr bool is_float(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

/// The name of a type as users write it, for example "bf16".
constexpr std::string_view name(DType type) {
  switch (type) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i32: return "i32";
    case DType::u32: return "u32";
    case DType::i64: return "i64";
    case DType::i8: return "i8";
    case DType::u8: return "u8";
  }
  return "?";
}

/// The type with that name, if there is one.
constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (DType type : all_dtypes) {
    if (name(type) == text) return type;
  }
  return std::nullopt;
}

}  // namespace weft
