#include "graph/graph.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "graph/kinds.hpp"
#include "graph/recover.hpp"

namespace weft::graph {
std::vector<Node*> below(std::span<const Value> values) {
  std::vector<Node*> found;
  if (values.empty()) return found;
  DeviceData* const device = values.front().node->device.get();
  const std::uint64_t walk = ++device->walks;
  const auto visit = [&](Node& node) {
    if (node.device.get() != device) {
      throw Error(ErrorCode::invalid_argument,
                  "Tensors that are computed together lie on different devices.");
    }
    if (node.walk == walk) return;
    node.walk = walk;
    node.reads = 0;
    renew(node);
    found.push_back(&node);
  };
  for (const Value& value : values) visit(*value.node);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]->computed()) continue;
    for (const Value& input : found[i]->inputs) {
      if (!input) continue;
      visit(*input.node);
      ++input.node->reads;
    }
  }
  std::ranges::sort(found, {}, &Node::number);
  for (std::size_t i = 0; i < found.size(); ++i) found[i]->place = static_cast<std::uint32_t>(i);
  return found;
}

Graph collect(std::span<const Value> outputs, std::span<const std::pair<Value, Value>> updates,
              std::span<const Value> inputs) {
  std::vector<Value> roots(outputs.begin(), outputs.end());
  for (const auto& [variable, value] : updates) {
    roots.push_back(variable);
    roots.push_back(value);
  }
  Graph graph;
  const auto edge = [&](const Value& value) {
    return value ? Edge{static_cast<int>(value.node->place), value.output} : Edge{};
  };
  for (Node* const node : below(roots)) {
    Operation operation;
    operation.types = node->types;
    operation.where = node->where;
    if (node->computed()) {
      operation.rule = node->rule == &kinds::variable ? node->rule : &kinds::value;
      operation.storage = node->storage;
      if (node->rule == &kinds::variable) operation.variable = node->shared_from_this();
      graph.operations.push_back(std::move(operation));
      continue;
    }
    operation.rule = node->rule;
    operation.attributes = node->attributes;
    if (node->rule == &kinds::input) {
      const auto found =
          std::ranges::find(inputs, node, [](const Value& input) { return input.node.get(); });
      if (found == inputs.end()) {
        throw Error(ErrorCode::invalid_argument,
                    formatted("A tensor {} that stands for an input of a compiled function has "
                              "no value, neither while that is traced nor outside of it: where() "
                              "chooses by elements, and what must be read belongs outside.",
                              describe(node->types.front())));
      }
      operation.input = static_cast<int>(found - inputs.begin());
    }
    for (const Value& input : node->inputs) operation.inputs.push_back(edge(input));
    graph.operations.push_back(std::move(operation));
  }
  for (const Value& output : outputs) graph.outputs.push_back(edge(output));
  for (const auto& [variable, value] : updates) {
    graph.updates.push_back({static_cast<int>(variable.node->place), edge(value)});
  }
  return graph;
}

namespace {

std::string name_of(const Graph& graph, Edge edge) {
  if (!edge.given()) return "none";
  const bool several = graph.at(edge.node).types.size() > 1;
  return several ? formatted("%{}.{}", edge.node, edge.output) : formatted("%{}", edge.node);
}

std::string types_of(const Operation& operation) {
  std::string text;
  for (const Type& type : operation.types) text += (text.empty() ? "" : ", ") + describe(type);
  return text;
}

std::string title_of(const Operation& operation) {
  std::string text(operation.rule->name);
  if (operation.input >= 0) text += formatted(" {}", operation.input);
  const std::string attributes = operation.attributes.text();
  return attributes.empty() ? text : text + " " + attributes;
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    text += formatted("%{} {} = {}", i, types_of(operation), title_of(operation));
    for (const Edge& input : operation.inputs) text += " " + name_of(graph, input);
    if (operation.where.line() != 0) text += describe_place("  #", operation.where);
    text += "\n";
  }
  for (const Edge& output : graph.outputs) text += "return " + name_of(graph, output) + "\n";
  for (const GraphUpdate& update : graph.updates) {
    text += formatted("update %{} with {}\n", update.variable, name_of(graph, update.value));
  }
  return text;
}

std::string to_dot(const Graph& graph) {
  std::string text = "digraph weft {\n  node [shape=box, fontname=\"monospace\"];\n";
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    text += formatted("  n{} [label=\"{}\\n{}\"{}];\n", i, title_of(operation), types_of(operation),
                      operation.rule->lower == nullptr ? ", style=rounded" : "");
    for (const Edge& input : operation.inputs) {
      if (input.given()) text += formatted("  n{} -> n{};\n", input.node, i);
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += formatted("  out{0} [label=\"result {0}\", shape=oval];\n  n{1} -> out{0};\n", i,
                      graph.outputs[i].node);
  }
  for (const GraphUpdate& update : graph.updates) {
    text += formatted("  n{} -> n{} [style=dashed, label=\"update\"];\n", update.value.node,
                      update.variable);
  }
  return text + "}\n";
}

}  // namespace weft::graph
