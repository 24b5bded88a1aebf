#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.hpp"
#include "ops/random/random.hpp"
#include "weft/tensor.hpp"

namespace weft::graph {

/// Random numbers of a type and shape; `first` and `domain` say which of those that a key has.
struct RandomAttributes {
  ops::random::Distribution distribution;
  DType dtype = DType::f32;
  Shape shape{};
  std::uint64_t first = 0;
  std::uint32_t domain = 0;
  bool operator==(const RandomAttributes&) const = default;
};
std::string text_of(const RandomAttributes& a);

}  // namespace weft::graph
