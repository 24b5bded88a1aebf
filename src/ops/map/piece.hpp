#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/view.hpp"

namespace weft::ops::map {

/// A part of a function's work that one launch makes.
struct Piece {
  std::span<const View> views;  ///< The output first; collapsed, and small enough for one binding.
  std::string_view function;
  DType domain = DType::f32;  ///< The type that the function is computed in: f32, i32 or u32.
  std::array<std::uint32_t, 4> scalars{};  ///< As bit patterns in that type.
  DType dtype = DType::f32;  ///< Of the result; copies write the bits of another type.

  [[nodiscard]] const View& y() const { return views.front(); }
  [[nodiscard]] std::span<const View> inputs() const { return views.subspan(1); }
};

}  // namespace weft::ops::map
