#include <algorithm>

#include "graph/kinds.hpp"
#include "graph/passes.hpp"
#include "ops/map/functions.hpp"

namespace weft::graph::passes {
namespace {

/// The product that an operation is the only reader of, or null.
Operation* product_below(Graph& graph, const std::vector<int>& readers, Edge edge) {
  if (!edge.given() || readers[static_cast<std::size_t>(edge.node)] != 1) return nullptr;
  Operation& below = graph.at(edge.node);
  return below.rule == &kinds::matmul ? &below : nullptr;
}

/// matmul + b → matmul with bias b, where b comes before the product and broadcasts to it. Products that are summed up
/// in one type and added in another stay apart, so that rounding stays the same.
bool take_bias(Graph& graph, const std::vector<int>& readers, int number) {
  Operation& operation = graph.at(number);
  for (std::size_t i = 0; i < 2; ++i) {
    const Operation* product = product_below(graph, readers, operation.inputs[i]);
    const Edge bias = operation.inputs[1 - i];
    if (product == nullptr || product->inputs.size() > 2 || product->types != operation.types ||
        as<MatmulAttributes>(product->attributes).activation != "none" ||
        !is_float(graph.type(bias).dtype)) {
      continue;
    }
    Operation fused = *product;
    fused.inputs.push_back(bias);
    fused.where = operation.where;
    operation = std::move(fused);
    return true;
  }
  return false;
}

bool take_activation(Graph& graph, const std::vector<int>& readers, int number) {
  Operation& operation = graph.at(number);
  const MapAttributes map = as<MapAttributes>(operation.attributes);
  const ops::map::Function* function = ops::map::find_function(map.function);
  const Operation* product = product_below(graph, readers, operation.inputs.front());
  if (function == nullptr || function->family != ops::map::Family::unary || product == nullptr ||
      as<MatmulAttributes>(product->attributes).activation != "none" || map.function == "copy") {
    return false;
  }
  Operation fused = *product;
  auto& attributes = std::get<MatmulAttributes>(fused.attributes);
  // The function may read a 16-bit product and give f32 (see `retype`).
  fused.types = operation.types;
  attributes.dtype = operation.types.front().dtype;
  attributes.activation = map.function;
  attributes.scalars = map.scalars;
  fused.where = operation.where;
  operation = std::move(fused);
  return true;
}

}  // namespace

Status epilogue(Graph& graph, DeviceData&) {
  const std::vector<int> readers = count_readers(graph);
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    if (operation.rule != &kinds::map) continue;
    const int number = static_cast<int>(i);
    if (as<MapAttributes>(operation.attributes).function == "add") {
      take_bias(graph, readers, number);
    } else if (operation.inputs.size() == 1) {
      take_activation(graph, readers, number);
    }
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
