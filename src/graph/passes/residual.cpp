#include <algorithm>

#include "describe/attributes/norm.hpp"
#include "graph/attributes/map.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph::passes {
namespace {

bool is_sum(const Operation& operation) {
  return operation.rule == &kinds::map && operation.inputs.size() == 2 &&
         as<MapAttributes>(operation.attributes).function == "add";
}

/// norm(a + b), where others read the sum too → both by one kernel. A sum that nothing else reads
/// is left to `fuse`.
void take_sum(Graph& graph, const std::vector<int>& readers, int number) {
  const Operation& norm = graph.at(number);
  const auto& a = as<NormAttributes>(norm.attributes);
  const Edge sum = norm.inputs.front();
  if (a.kind == ops::norm::Kind::group || readers[static_cast<std::size_t>(sum.node)] < 2) return;
  const Operation& added = graph.at(sum.node);
  const Type type = graph.type(sum);
  if (!is_sum(added) || type.dtype != DType::f32 || graph.type(added.inputs[0]) != type ||
      graph.type(added.inputs[1]) != type || norm.types.front() != type) {
    return;
  }
  // Weight and bias are there before the sum is: it would wait for itself otherwise.
  for (std::size_t i = 1; i < norm.inputs.size(); ++i) {
    if (norm.inputs[i].node > sum.node) return;
  }
  Operation both = norm;
  both.rule = &kinds::residual_norm;
  both.inputs = {added.inputs[0], norm.inputs[1], norm.inputs[2], added.inputs[1]};
  both.types = {type, type};
  graph.at(number) = std::move(both);
  redirect(graph, sum, {number, 1});
}

}  // namespace

Status residual(Graph& graph, DeviceData&) {
  const std::vector<int> readers = count_readers(graph);
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    if (graph.operations[i].rule == &kinds::norm) take_sum(graph, readers, static_cast<int>(i));
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
