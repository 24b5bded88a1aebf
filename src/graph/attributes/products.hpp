#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/dtype.hpp"

namespace weft::graph {

/// A product; the third input, if there is one, is added to it before the activation.
struct MatmulAttributes {
  DType dtype = DType::f32;
  float alpha = 1;
  bool allow_f16 = false;
  std::string activation = "none";
  std::array<double, 4> scalars{};
  bool operator==(const MatmulAttributes&) const = default;
};
std::string text_of(const MatmulAttributes& a);

/// Products of one x with one to three quantized weights: one with a bias and a unary function
/// behind it, two of a gated unit, or several side by side.
struct ProductsAttributes {
  std::uint32_t parts = 1;
  std::string function = "none";
  std::array<double, 4> scalars{};
  bool gated = false;
  bool packs = false;  ///< Of gated units: the result also comes in the form of `pack`.
  bool allow_q8 = false;
  bool exact = false;
  bool operator==(const ProductsAttributes&) const = default;
};
std::string text_of(const ProductsAttributes& a);

}  // namespace weft::graph
