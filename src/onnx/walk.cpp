#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>

#include "onnx/call.hpp"
#include "onnx/functions.hpp"
#include "onnx/host.hpp"

namespace weft::onnx {
namespace {

constexpr int deepest = 200;  // functions that call themselves, graphs in graphs

struct Deeper {
  explicit Deeper(Context& run) : context(run) {
    if (++context.depth > deepest) {
      --context.depth;
      throw Error(ErrorCode::invalid_argument,
                  formatted("Functions and graphs lie more than {} deep in each other.", deepest));
    }
  }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --context.depth; }
  Context& context;
};

/// The opset that a node is of.
std::int64_t version_of(const Context& context, const Scope& scope, const std::string& domain) {
  const std::map<std::string, std::int64_t>* opsets = &context.opsets;
  for (const Scope* at = &scope; at != nullptr; at = at->parent) {
    if (at->opsets == nullptr) continue;
    opsets = at->opsets;
    break;
  }
  const auto found = opsets->find(domain);
  return found == opsets->end() ? 1 : found->second;
}

/// What a node's text says about it in messages.
std::string title(const Node& node) {
  std::string out = node.name.empty() ? "The node" : formatted("Node '{}'", node.name);
  const std::string kind = node.domain.empty() ? node.op : node.domain + "." + node.op;
  const std::string result =
      node.outputs.empty() ? "" : formatted(" that gives '{}'", node.outputs.front());
  return formatted("{} ({}){}", out, kind, node.name.empty() ? result : "");
}

Values call_function(Call& call, const Function& function) {
  const Deeper deeper(call.context);
  std::map<std::string, Attribute> attributes;
  for (const Attribute& one : function.defaults) attributes[one.name] = one;
  for (const Attribute& one : call.node.attributes) {
    if (const Attribute* value = call.attribute(one.name)) {
      attributes[one.name] = *value;
    }
  }
  Scope body;
  body.attributes = &attributes;
  body.opsets = &function.opsets;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    body.values[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : Value();
  }
  run_nodes(call.context, function.nodes, body);
  Values out;
  for (const std::string& name : function.outputs) {
    const Value* value = body.find(name);
    if (value == nullptr)
      call.wrong(formatted("Function {} has no value '{}' to give back.", function.name, name));
    out.push_back(*value);
  }
  return out;
}

Values run_call(Call& call) {
  const auto function =
      call.context.functions.find(function_key(call.node.domain, call.node.op, call.node.overload));
  const Op op = find_op(call.node);
  if (function != call.context.functions.end()) return call_function(call, *function->second);
  if (op == nullptr) call.refuse("Weft does not know this operation.");
  if (auto known = on_host(call)) return std::move(*known);
  return op(call);
}

/// The inputs of the graph that a node's results follow from.
std::vector<std::uint32_t> sources_of(const Values& inputs) {
  std::vector<std::uint32_t> out;
  for (const Value& value : inputs)
    out.insert(out.end(), value.sources().begin(), value.sources().end());
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

void with_sources(Value& value, const std::vector<std::uint32_t>& sources) {
  if (!value.exists() || value.known() != nullptr) return;
  if (value.sources().empty()) value.set_sources(sources);
}

}  // namespace

void run_nodes(Context& context, const std::vector<Node>& nodes, Scope& scope) {
  for (const Node& node : nodes) {
    try {
      if (++context.nodes > context.most_nodes)
        throw Error(ErrorCode::unsupported,
                    formatted("More than {} nodes in one run, those of loops and functions counted "
                              "each time, are not done.",
                              context.most_nodes));
      Values inputs;
      for (const std::string& name : node.inputs) {
        if (name.empty()) {
          inputs.emplace_back();
          continue;
        }
        const Value* value = scope.find(name);
        if (value == nullptr)
          throw Error(ErrorCode::invalid_argument,
                      formatted("There is no value '{}' before it.", name));
        inputs.push_back(*value);
      }
      const auto sources = sources_of(inputs);
      Call call(context, node, scope, std::move(inputs), version_of(context, scope, node.domain));
      Values results = run_call(call);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].empty()) continue;
        if (i >= results.size())
          throw Error(ErrorCode::unsupported,
                      formatted("Result {} ('{}') is not computed.", i, node.outputs[i]));
        if (scope.values.contains(node.outputs[i]))
          throw Error(ErrorCode::invalid_argument,
                      formatted("There is a value '{}' already.", node.outputs[i]));
        with_sources(results[i], sources);
        scope.values[node.outputs[i]] = results[i];
      }
    } catch (const NeedsElements&) {
      throw;
    } catch (const Error& error) {
      throw Error(error.code(), formatted("{}: {}", title(node), error.what()));
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::out_of_memory,
                  formatted("{}: The host has not enough memory for it.", title(node)));
    } catch (const std::length_error&) {
      throw Error(ErrorCode::out_of_memory,
                  formatted("{}: No list can have as many elements.", title(node)));
    } catch (const std::exception& error) {  // a list that is shorter than it must be
      throw Error(
          ErrorCode::invalid_argument,
          formatted("{}: An input or attribute is too short ({}).", title(node), error.what()));
    }
  }
}

Values run_graph(Context& context, const GraphProto& graph, const Scope* around,
                 const Values& inputs) {
  const Deeper deeper(context);
  if (graph.has_sparse)
    throw Error(
        ErrorCode::unsupported,
        formatted("Graph '{}' has sparse initializers, which Weft does not read.", graph.name));
  Scope scope;
  scope.parent = around;
  for (const auto& tensor : graph.initializers)
    scope.values[tensor->name] = context.constant(*tensor);
  for (std::size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i) {
    if (inputs[i].exists() || !scope.values.contains(graph.inputs[i].name))
      scope.values[graph.inputs[i].name] = inputs[i];
  }
  run_nodes(context, graph.nodes, scope);
  Values out;
  for (const ValueInfo& one : graph.outputs) {
    const Value* value = scope.find(one.name);
    if (value == nullptr)
      throw Error(ErrorCode::invalid_argument,
                  formatted("Graph '{}' has no value '{}' to give back.", graph.name, one.name));
    out.push_back(*value);
  }
  return out;
}

Op find_op(const Node& node) {
  const Table& all = table();
  const auto found = all.find(node.domain.empty() ? node.op : node.domain + "." + node.op);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace weft::onnx
