#include "graph/destinations.hpp"

#include <algorithm>

#include "describe/attributes/axis.hpp"
#include "graph/kinds.hpp"

namespace weft::graph {
namespace {

/// What an edge shows the elements of, in the same order.
Edge below_reshapes(const Graph& graph, Edge edge) {
  while (graph.at(edge.node).rule == &kinds::reshape ||
         graph.at(edge.node).rule == &kinds::detach) {
    edge = graph.at(edge.node).inputs.front();
  }
  return edge;
}

/// What an edge shows elements of, in whatever order.
Edge below_views(const Graph& graph, Edge edge) {
  while (graph.at(edge.node).rule->view != nullptr) edge = graph.at(edge.node).inputs.front();
  return edge;
}

/// Whether a result must lie in memory that outlives the run, because it, or a view of it, is asked
/// for.
bool outlives(const Graph& graph, Edge edge) {
  const auto same = [&](Edge other) { return below_views(graph, other) == edge; };
  return std::ranges::any_of(graph.outputs, same) ||
         std::ranges::any_of(graph.updates, same, &GraphUpdate::value);
}

}  // namespace

std::map<Edge, Destination> find_destinations(const Graph& graph) {
  std::map<Edge, Destination> out;
  std::map<Edge, int> places;  // a part that is wanted at several places lies at none of them
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    const int number = static_cast<int>(i);
    if (operation.rule != &kinds::concat || operation.inputs.size() < 2) continue;
    const std::uint32_t axis = as<AxisAttributes>(operation.attributes).axis;
    const Shape& shape = operation.types.front().shape;
    const bool in_one_piece =
        std::all_of(shape.begin(), shape.begin() + axis, [](std::uint64_t e) { return e == 1; });
    // Blocks of quantized elements are not counted in elements.
    if (!in_one_piece || outlives(graph, {number, 0}) ||
        is_quantized(graph.type({number, 0}).dtype)) {
      continue;
    }
    std::uint64_t element = 0;
    for (const Edge& input : operation.inputs) {
      const Edge source = below_reshapes(graph, input);
      if (graph.at(source.node).rule->lower != nullptr && !outlives(graph, source)) {
        out.try_emplace(source, number, element);
        ++places[source];
      }
      element += graph.type(input).count();
    }
  }
  std::erase_if(out, [&](const auto& entry) { return places[entry.first] > 1; });
  return out;
}

}  // namespace weft::graph
