#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/tensor.hpp"

namespace weft::graph {

/// A part of a graph that is computed again when gradients need what is inside of it.
struct CheckpointAttributes {
  std::shared_ptr<const std::function<Tensor(const std::vector<Tensor>&)>> function;
  bool operator==(const CheckpointAttributes&) const = default;
};
std::string text_of(const CheckpointAttributes& a);

}  // namespace weft::graph
