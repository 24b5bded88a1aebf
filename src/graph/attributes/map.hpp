#pragma once

#include <array>
#include <string>

#include "base/dtype.hpp"
#include "weft/tensor.hpp"

namespace weft::graph {

/// An elementwise function; a source (no inputs) says its type and shape.
struct MapAttributes {
  std::string function;
  std::array<double, 4> scalars{};
  DType dtype = DType::f32;
  Shape shape{};
  bool operator==(const MapAttributes&) const = default;
};
std::string text_of(const MapAttributes& a);

}  // namespace weft::graph
