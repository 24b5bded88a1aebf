#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "device/caps.hpp"

namespace weft {

/// What WGSL calls the types of subgroup matrices, in the order of MatrixType.
inline constexpr std::array<std::string_view, 6> matrix_type_names{"f32", "f16", "u32",
                                                                   "i32", "u8",  "i8"};

constexpr std::string_view name(MatrixType type) {
  return matrix_type_names[static_cast<std::size_t>(type)];
}

constexpr std::optional<MatrixType> find_matrix_type(std::string_view name) {
  const std::span names(matrix_type_names);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<MatrixType>(found - names.begin());
}

}  // namespace weft
