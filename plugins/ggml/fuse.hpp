#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include "node.hpp"

namespace weft::plugin {

/// How often each tensor of a graph is read, as a source or through a view of it.
class Uses {
 public:
  explicit Uses(std::span<ggml_tensor* const> nodes);
  /// Whether the next node is the only one that ever sees the result.
  [[nodiscard]] bool only_once(const ggml_tensor& tensor) const;

 private:
  std::unordered_map<const ggml_tensor*, int> counts_;
};

/// Several nodes as one plan.
struct Fusion {
  std::size_t nodes = 0;  ///< How many of the first nodes it computes.
  ops::Plan plan;
};

/// The longest known sequence at the start of `nodes` (those that compute something) that one op can do: an addition, a
/// norm, a multiplication and an addition. Empty when there is none, or when its tensors overlap so that only one node
/// after the other is right.
std::optional<Fusion> fuse(std::span<const ggml_tensor* const> nodes, const Uses& uses,
                           const std::function<Result<Place>(const ggml_tensor&)>& place,
                           const Caps& caps);

}  // namespace weft::plugin
