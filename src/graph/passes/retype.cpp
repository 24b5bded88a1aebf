#include <algorithm>

#include "graph/attributes/products.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph::passes {
namespace {

/// Whether an operation can write its result as any float type.
bool writes_any(const Operation& operation) {
  return operation.rule == &kinds::norm || operation.rule == &kinds::rope ||
         operation.rule == &kinds::matmul;
}

/// Whether an operation can read an input of any float type.
bool reads_any(const Operation& operation, std::size_t input) {
  return operation.rule == &kinds::map || (operation.rule == &kinds::norm_back && input == 2);
}

/// A cast becomes the operation before it, if nothing else reads that.
bool take_producer(Graph& graph, const std::vector<int>& readers, Operation& cast) {
  const Edge source = cast.inputs.front();
  const Operation& below = graph.at(source.node);
  if (readers[static_cast<std::size_t>(source.node)] != 1 || !writes_any(below)) return false;
  Operation typed = below;
  typed.types = cast.types;
  if (typed.rule == &kinds::matmul) {
    auto attributes = as<MatmulAttributes>(typed.attributes);
    attributes.dtype = cast.types.front().dtype;
    typed.attributes = std::move(attributes);
  }
  cast = std::move(typed);
  return true;
}

bool is_float_cast(const Graph& graph, const Operation& operation) {
  return operation.rule == &kinds::cast && is_float(operation.types.front().dtype) &&
         is_float(graph.type(operation.inputs.front()).dtype);
}

/// Whether a cast loses nothing.
bool widens(const Operation& cast) { return cast.types.front().dtype == DType::f32; }

}  // namespace

Status retype(Graph& graph, DeviceData&) {
  for (Operation& operation : graph.operations) {
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      Edge& input = operation.inputs[i];
      if (!input.given() || !reads_any(operation, i)) continue;
      const Operation& below = graph.at(input.node);
      if (is_float_cast(graph, below) && widens(below)) input = below.inputs.front();
    }
  }
  compact(graph);
  const std::vector<int> readers = count_readers(graph);
  for (Operation& operation : graph.operations) {
    if (is_float_cast(graph, operation)) take_producer(graph, readers, operation);
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
