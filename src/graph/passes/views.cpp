#include <algorithm>

#include "describe/attributes/permute.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph::passes {
namespace {

/// A permutation of a permutation is one, and so are reshapes of reshapes.
bool join(Operation& operation, const Operation& below) {
  if (operation.rule != below.rule) return false;
  if (operation.rule == &kinds::permute) {
    auto joined = as<PermuteAttributes>(operation.attributes);
    const auto& inner = as<PermuteAttributes>(below.attributes).order;
    for (std::uint32_t& dim : joined.order) dim = inner[dim];
    operation.attributes = std::move(joined);
  } else if (operation.rule != &kinds::reshape && operation.rule != &kinds::detach) {
    return false;
  }
  operation.inputs = below.inputs;
  return true;
}

bool changes_nothing(const Graph& graph, const Operation& operation) {
  if (operation.rule == &kinds::detach) return true;
  const bool same = operation.types.front() == graph.type(operation.inputs.front());
  if (operation.rule == &kinds::permute) {
    return std::ranges::is_sorted(as<PermuteAttributes>(operation.attributes).order);
  }
  const bool views = operation.rule == &kinds::reshape || operation.rule == &kinds::broadcast_to ||
                     operation.rule == &kinds::cast;
  return views && same;
}

}  // namespace

Status views(Graph& graph, DeviceData&) {
  std::vector<Edge> stands_for(graph.operations.size());
  const auto follow = [&](Edge& edge) {
    if (edge.given() && stands_for[static_cast<std::size_t>(edge.node)].given()) {
      edge = stands_for[static_cast<std::size_t>(edge.node)];
    }
  };
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    Operation& operation = graph.operations[i];
    for (Edge& input : operation.inputs) follow(input);
    if (operation.rule->view == nullptr && operation.rule != &kinds::cast) continue;
    while (join(operation, graph.at(operation.inputs.front().node))) {
    }
    if (changes_nothing(graph, operation)) stands_for[i] = operation.inputs.front();
  }
  for (Edge& output : graph.outputs) follow(output);
  for (GraphUpdate& update : graph.updates) follow(update.value);
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
