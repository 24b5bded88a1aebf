#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"

namespace weft::gguf {

/// A type of tensor elements in GGUF files: `block` consecutive elements of a row take `bytes` bytes.
struct TypeInfo {
  std::uint32_t id;
  std::string_view name;
  std::uint32_t block;
  std::uint32_t bytes;
};

/// Every type that files may hold.
inline constexpr std::array type_table{
    TypeInfo{0, "f32", 1, 4},         TypeInfo{1, "f16", 1, 2},
    TypeInfo{2, "q4_0", 32, 18},      TypeInfo{3, "q4_1", 32, 20},
    TypeInfo{6, "q5_0", 32, 22},      TypeInfo{7, "q5_1", 32, 24},
    TypeInfo{8, "q8_0", 32, 34},      TypeInfo{9, "q8_1", 32, 36},
    TypeInfo{10, "q2_k", 256, 84},    TypeInfo{11, "q3_k", 256, 110},
    TypeInfo{12, "q4_k", 256, 144},   TypeInfo{13, "q5_k", 256, 176},
    TypeInfo{14, "q6_k", 256, 210},   TypeInfo{15, "q8_k", 256, 292},
    TypeInfo{16, "iq2_xxs", 256, 66}, TypeInfo{17, "iq2_xs", 256, 74},
    TypeInfo{18, "iq3_xxs", 256, 98}, TypeInfo{19, "iq1_s", 256, 50},
    TypeInfo{20, "iq4_nl", 32, 18},   TypeInfo{21, "iq3_s", 256, 110},
    TypeInfo{22, "iq2_s", 256, 82},   TypeInfo{23, "iq4_xs", 256, 136},
    TypeInfo{24, "i8", 1, 1},         TypeInfo{25, "i16", 1, 2},
    TypeInfo{26, "i32", 1, 4},        TypeInfo{27, "i64", 1, 8},
    TypeInfo{28, "f64", 1, 8},        TypeInfo{29, "iq1_m", 256, 56},
    TypeInfo{30, "bf16", 1, 2},       TypeInfo{34, "tq1_0", 256, 54},
    TypeInfo{35, "tq2_0", 256, 66},   TypeInfo{39, "mxfp4", 32, 17},
    TypeInfo{40, "nvfp4", 64, 36},    TypeInfo{41, "q1_0", 128, 18},
    TypeInfo{42, "q2_0", 64, 18}};

/// The row of `type_table` with that number, if there is one.
constexpr const TypeInfo* find_type(std::uint32_t id) {
  for (const TypeInfo& type : type_table) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

/// The row of `type_table` with that name, if there is one.
constexpr const TypeInfo* find_type(std::string_view name) {
  for (const TypeInfo& type : type_table) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

/// The number that GGUF files know an element type of Weft by; u32 and u8 have none.
constexpr std::optional<std::uint32_t> id_of(DType dtype) {
  for (const TypeInfo& type : type_table) {
    if (type.name == name(dtype)) return type.id;
  }
  return std::nullopt;
}

/// Bytes of a dense tensor with that shape (innermost dimension last); an error where the innermost dimension is no
/// whole number of blocks or the size passes 64 bits.
Result<std::uint64_t> tensor_bytes(const TypeInfo& type, std::span<const std::uint64_t> shape);

}  // namespace weft::gguf
