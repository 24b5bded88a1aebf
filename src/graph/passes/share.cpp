#include <map>

#include "base/format.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph::passes {
namespace {

/// A text that is equal for operations with equal results.
std::string key_of(const Operation& operation) {
  std::string key = formatted("{}|{}", operation.rule->name, describe(operation.attributes));
  for (const Edge& input : operation.inputs) key += formatted("|{}.{}", input.node, input.output);
  for (const Type& type : operation.types) key += "|" + describe(type);
  for (const Storage& storage : operation.storage) {
    key += formatted("|{} {}", storage.buffer.id(), ops::describe(storage.view));
  }
  return key;
}

}  // namespace

Status share(Graph& graph, DeviceData&) {
  std::map<std::string, int> seen;
  std::vector<int> first(graph.operations.size());
  const auto follow = [&](Edge& edge) {
    if (edge.given()) edge.node = first[static_cast<std::size_t>(edge.node)];
  };
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    Operation& operation = graph.operations[i];
    const int number = static_cast<int>(i);
    first[i] = number;
    for (Edge& input : operation.inputs) follow(input);
    if (operation.rule == &kinds::variable || operation.rule == &kinds::input) continue;
    first[i] = seen.try_emplace(key_of(operation), number).first->second;
  }
  for (Edge& output : graph.outputs) follow(output);
  for (GraphUpdate& update : graph.updates) follow(update.value);
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
