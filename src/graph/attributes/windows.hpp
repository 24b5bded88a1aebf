#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "ops/pool/pool.hpp"
#include "ops/unfold/unfold.hpp"
#include "weft/tensor.hpp"

namespace weft::graph {

/// A convolution, or a derivative of one. The result has the extents `spatial` behind its first
/// two, or without any those that follow from the padding: `high` elements behind the image (of a
/// transposed one: more elements of the result).
struct ConvAttributes {
  std::vector<ops::unfold::Axis> axes;
  std::vector<std::uint64_t> high;
  std::uint64_t groups = 1;
  bool allow_f16 = false;
  DType dtype = DType::f32;
  Shape spatial{};
  bool operator==(const ConvAttributes&) const = default;
};
std::string text_of(const ConvAttributes& a);

/// Windows of an image: a pool (`function`), what goes back through one, and windows written out
/// (both have `spatial` where it does not follow from the padding).
struct WindowAttributes {
  ops::pool::Function function = ops::pool::Function::max;
  std::vector<std::uint64_t> kernel;
  std::vector<ops::unfold::Axis> axes;
  std::vector<std::uint64_t> high;
  bool count_outside = false;
  Shape spatial{};
  bool operator==(const WindowAttributes&) const = default;
};
std::string text_of(const WindowAttributes& a);

}  // namespace weft::graph
