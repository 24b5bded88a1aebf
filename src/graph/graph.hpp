#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/node.hpp"
#include "graph/rule.hpp"

namespace weft::graph {

/// One output of an operation of a Graph; node -1 means "not given".
struct Edge {
  int node = -1;
  std::uint32_t output = 0;
  [[nodiscard]] bool given() const { return node >= 0; }
  auto operator<=>(const Edge&) const = default;
};

/// One operation of a Graph. Leaves have their elements in `storage`, or are the input with number
/// `input`.
struct Operation {
  const Rule* rule = nullptr;
  Attributes attributes;
  std::vector<Edge> inputs;
  std::vector<Type> types;
  Where where;
  std::vector<Storage> storage;  ///< One per output of a leaf that has elements.
  std::shared_ptr<Node>
      variable;  ///< The node of a variable, which keeps its elements in one place.
  int input = -1;
};

/// At the end, `value` replaces the elements of the variable that operation number `variable` is.
struct GraphUpdate {
  int variable = -1;
  Edge value;
};

/// A list of operations, each after those that it reads: what passes work on, and what is lowered
/// to launches.
struct Graph {
  std::vector<Operation> operations;
  std::vector<Edge> outputs;
  std::vector<GraphUpdate> updates;

  [[nodiscard]] const Type& type(Edge edge) const {
    return operations[static_cast<std::size_t>(edge.node)].types[edge.output];
  }
  [[nodiscard]] Operation& at(int node) { return operations[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const Operation& at(int node) const {
    return operations[static_cast<std::size_t>(node)];
  }
};

/// All nodes below some values that have no elements yet, and the leaves that they read, oldest
/// first. Each has its place in the list, and how often others of it read it, until the next call;
/// the caller holds the device's lock.
std::vector<Node*> below(std::span<const Value> values);

/// The nodes that values and updates are computed from, in the order in which they were made. Nodes
/// that have their elements already become leaves. `inputs` are the stand-ins for inputs, in order.
Graph collect(std::span<const Value> outputs, std::span<const std::pair<Value, Value>> updates,
              std::span<const Value> inputs);

/// A line per operation: "%3 f32[2,3] = map gelu %2   (model.cpp:12)".
std::string to_text(const Graph& graph);

/// The graph in the DOT language.
std::string to_dot(const Graph& graph);

}  // namespace weft::graph
