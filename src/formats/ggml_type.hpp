#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "describe/file_types.hpp"

namespace weft::gguf {

/// A type of tensor elements in GGUF files, and every type that files may hold
/// (description/types.toml).
using TypeInfo = described::GgufType;
inline constexpr auto& type_table = described::gguf_types;

/// The row of `type_table` with that number, if there is one.
constexpr const TypeInfo* find_type(std::uint32_t id) {
  for (const TypeInfo& type : type_table) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

/// The row of `type_table` with that name, in capitals or not ("q4_K", "q4_k"), if there is one.
constexpr const TypeInfo* find_type(std::string_view name) {
  const auto small = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (const TypeInfo& type : type_table) {
    if (std::ranges::equal(type.name, name, {}, small, small)) return &type;
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

/// Bytes of a dense tensor with that shape (innermost dimension last); an error where the innermost
/// dimension is no whole number of blocks or the size passes 64 bits.
Result<std::uint64_t> tensor_bytes(const TypeInfo& type, std::span<const std::uint64_t> shape);

}  // namespace weft::gguf
