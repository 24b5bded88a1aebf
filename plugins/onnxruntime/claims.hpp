#pragma once

#include <string>
#include <vector>

#include "api.hpp"
#include "weft/device.hpp"

namespace weft::ort {

/// What a provider takes of a graph.
struct Claims {
  std::vector<std::vector<const OrtNode*>> groups;  ///< Each becomes one node.
  std::vector<std::string> refused;                 ///< Sentences about the other nodes.
};

/// The largest groups of nodes that Weft can run. No path leads out of a group and back into it.
[[nodiscard]] Claims claims_of(const Api& api, const Device& device, const OrtGraph* graph);

}  // namespace weft::ort
