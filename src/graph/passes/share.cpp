#include <algorithm>
#include <map>
#include <vector>

#include "base/format.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph::passes {
namespace {

/// A text that is equal for operations with equal results; of attributes it has what is shown, not
/// all.
std::string key_of(const Operation& operation) {
  std::string key = formatted("{}|{}", operation.rule->name, operation.attributes.text());
  for (const Edge& input : operation.inputs) key += formatted("|{}.{}", input.node, input.output);
  for (const Type& type : operation.types) key += "|" + describe(type);
  for (const Storage& storage : operation.storage) {
    key += formatted("|{} {}", storage.buffer.id(), ops::describe(storage.view));
  }
  return key;
}

}  // namespace

Status share(Graph& graph, DeviceData&) {
  std::map<std::string, std::vector<int>> seen;
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
    std::vector<int>& alike = seen[key_of(operation)];
    const auto same = std::ranges::find_if(alike, [&](int other) {
      return graph.operations[static_cast<std::size_t>(other)].attributes == operation.attributes;
    });
    if (same == alike.end()) {
      alike.push_back(number);
    } else {
      first[i] = *same;
    }
  }
  for (Edge& output : graph.outputs) follow(output);
  for (GraphUpdate& update : graph.updates) follow(update.value);
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
