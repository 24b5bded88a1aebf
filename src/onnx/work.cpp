#include "onnx/work.hpp"

#include <algorithm>

namespace weft::onnx {

NodeTime work_of(const Node& node, const Scope& scope) {
  NodeTime out;
  const auto value_of = [&](const std::string& name) -> const Value* {
    const Value* value = name.empty() ? nullptr : scope.find(name);
    return value == nullptr || !value->exists() || value->is_sequence() ? nullptr : value;
  };
  const auto bytes_of = [](const Value& value) {
    return static_cast<double>(value.size()) * static_cast<double>(size_of(value.type()));
  };
  for (const std::string& name : node.inputs) {
    if (const Value* value = value_of(name)) out.bytes += bytes_of(*value);
  }
  for (const std::string& name : node.outputs) {
    if (const Value* value = value_of(name)) {
      out.bytes += bytes_of(*value);
      out.operations += static_cast<double>(value->size());
    }
  }
  const Value* second = node.inputs.size() > 1 ? value_of(node.inputs[1]) : nullptr;
  const Value* result = node.outputs.empty() ? nullptr : value_of(node.outputs[0]);
  const Value* first = node.inputs.empty() ? nullptr : value_of(node.inputs[0]);
  if (first == nullptr || second == nullptr || result == nullptr || second->shape().empty())
    return out;
  const double weights = static_cast<double>(second->size());
  const double rows = std::max(static_cast<double>(second->shape()[0]), 1.0);
  const double results = static_cast<double>(result->size());
  if (node.op == "Gemm") {  // either operand may lie the other way round
    const double lines = result->shape().empty() ? 1.0 : static_cast<double>(result->shape()[0]);
    out.operations = 2 * results * static_cast<double>(first->size()) / std::max(lines, 1.0);
  } else if (node.op.starts_with("MatMul") || node.op == "FusedMatMul") {
    const double depth = first->shape().empty() ? 1 : static_cast<double>(first->shape().back());
    out.operations = 2 * results * depth;
  } else if (node.op == "ConvTranspose") {
    out.operations = 2 * static_cast<double>(first->size()) * weights / rows;
  } else if (node.op == "Conv" || node.op == "ConvInteger" || node.op == "FusedConv") {
    out.operations = 2 * results * weights / rows;
  }
  return out;
}

}  // namespace weft::onnx
