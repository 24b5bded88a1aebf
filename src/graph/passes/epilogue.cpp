#include <algorithm>
#include <optional>

#include "describe/attributes/linear.hpp"
#include "graph/attributes/map.hpp"
#include "graph/attributes/products.hpp"
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

/// matmul + b → matmul with bias b, where b comes before the product and broadcasts to it. Products
/// that are summed up in one type and added in another stay apart, so that rounding stays the same.
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
      as<MatmulAttributes>(product->attributes).activation != "none" || map.function == "copy" ||
      !is_float(operation.types.front().dtype)) {  // isnan and others give bool, products cannot
    return false;
  }
  Operation fused = *product;
  auto attributes = as<MatmulAttributes>(fused.attributes);
  // The function may read a 16-bit product and give f32 (see `retype`).
  fused.types = operation.types;
  attributes.dtype = operation.types.front().dtype;
  attributes.activation = map.function;
  attributes.scalars = map.scalars;
  fused.attributes = std::move(attributes);
  fused.where = operation.where;
  operation = std::move(fused);
  return true;
}

/// The product with quantized weights that an operation is the only reader of, as `products`.
std::optional<Operation> weighted_below(const Graph& graph, const std::vector<int>& readers,
                                        Edge edge) {
  if (!edge.given() || readers[static_cast<std::size_t>(edge.node)] != 1) return std::nullopt;
  const Operation& below = graph.at(edge.node);
  if (below.rule == &kinds::products) {
    const auto& a = as<ProductsAttributes>(below.attributes);
    return a.parts == 1 && a.function == "none" ? std::optional(below) : std::nullopt;
  }
  if (below.rule != &kinds::linear || graph.type(below.inputs[1]).rank() != 2 ||
      graph.type(below.inputs[1]).count() == 0) {
    return std::nullopt;
  }
  const auto& a = as<LinearAttributes>(below.attributes);
  Operation out = below;
  out.rule = &kinds::products;
  out.attributes = ProductsAttributes{.allow_q8 = a.allow_q8, .exact = a.exact};
  out.inputs = {below.inputs[0], Edge{}, below.inputs[1]};
  return out;
}

/// Whether a norm reads a sum, which then adds it up by itself (see `residual`).
bool read_by_norm(const Graph& graph, Edge sum) {
  return std::ranges::any_of(graph.operations, [&](const Operation& operation) {
    return operation.rule == &kinds::norm && operation.inputs.front() == sum;
  });
}

/// linear + b → with the bias b, and what takes a product with quantized weights along in the same
/// way.
bool add_to_weighted(Graph& graph, const std::vector<int>& readers, int number) {
  Operation& operation = graph.at(number);
  for (std::size_t i = 0; i < 2; ++i) {
    auto product = weighted_below(graph, readers, operation.inputs[i]);
    const Edge bias = operation.inputs[1 - i];
    if (!product || product->inputs.size() > 3 || product->types != operation.types ||
        graph.type(bias).dtype != DType::f32 ||
        (graph.type(bias) == operation.types.front() && read_by_norm(graph, {number, 0}))) {
      continue;
    }
    product->inputs.push_back(bias);
    product->where = operation.where;
    operation = std::move(*product);
    return true;
  }
  return false;
}

bool activate_weighted(Graph& graph, const std::vector<int>& readers, int number) {
  Operation& operation = graph.at(number);
  const MapAttributes map = as<MapAttributes>(operation.attributes);
  const ops::map::Function* function = ops::map::find_function(map.function);
  auto product = weighted_below(graph, readers, operation.inputs.front());
  if (!product || function == nullptr || function->family != ops::map::Family::unary ||
      map.function == "copy" || product->types != operation.types) {
    return false;
  }
  auto attributes = as<ProductsAttributes>(product->attributes);
  attributes.function = map.function;
  attributes.scalars = map.scalars;
  product->attributes = std::move(attributes);
  product->where = operation.where;
  operation = std::move(*product);
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
      if (!take_bias(graph, readers, number)) add_to_weighted(graph, readers, number);
    } else if (operation.inputs.size() == 1) {
      if (!take_activation(graph, readers, number)) activate_weighted(graph, readers, number);
    }
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
