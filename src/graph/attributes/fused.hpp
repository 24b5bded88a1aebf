#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.hpp"
#include "describe/attributes/norm.hpp"
#include "describe/attributes/softmax.hpp"
#include "graph/attributes/reduce.hpp"
#include "ops/fused/fused.hpp"
#include "weft/tensor.hpp"

namespace weft::graph {

/// A chain of elementwise functions.
struct FusedAttributes {
  std::vector<ops::fused::Step> steps;
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const FusedAttributes&) const = default;
};
std::string text_of(const FusedAttributes& a);

/// A reduction, a softmax or a norm of a chain of elementwise functions. The inputs of the chain
/// come first, then weight and bias of a norm.
struct FusedTailAttributes {
  std::vector<ops::fused::Step> steps;
  std::uint32_t inputs = 0;  ///< Of the chain.
  Shape shape;               ///< Of its result.
  std::variant<ReduceAttributes, SoftmaxAttributes, NormAttributes> tail;
  bool operator==(const FusedTailAttributes&) const = default;
};
std::string text_of(const FusedTailAttributes& a);

}  // namespace weft::graph
