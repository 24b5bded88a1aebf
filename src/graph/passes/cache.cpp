#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph::passes {
namespace {

/// index_copy(table, rows, rope(x)) → the rows are written where they belong, if nothing else reads
/// them.
void take_rope(Graph& graph, const std::vector<int>& readers, int number) {
  const Operation& copy = graph.at(number);
  const auto only = [&](Edge edge) { return readers[static_cast<std::size_t>(edge.node)] == 1; };
  const Type& table = graph.type(copy.inputs[0]);
  const Type& indices = graph.type(copy.inputs[1]);
  Edge source = copy.inputs[2];
  while (only(source) && graph.at(source.node).rule == &kinds::reshape) {
    source = graph.at(source.node).inputs.front();
  }
  const Operation& rope = graph.at(source.node);
  if (rope.rule != &kinds::rope || !only(source)) return;
  const Shape& x = graph.type(rope.inputs[0]).shape;
  if (x[0] != 1 || x[1] != indices.shape[0] || table.shape[1] != x[2] * x[3] ||
      indices.dtype != DType::i32 || graph.type(source).dtype != table.dtype) {
    return;
  }
  Operation both = rope;
  both.rule = &kinds::rope_rows;
  both.inputs.resize(3);
  both.inputs.insert(both.inputs.end(), {copy.inputs[0], copy.inputs[1]});
  both.types = copy.types;
  both.where = copy.where;
  graph.at(number) = std::move(both);
}

}  // namespace

Status cache(Graph& graph, DeviceData& device) {
  if (device.checks) return {};  // index_copy reports rows that the table does not have.
  const std::vector<int> readers = count_readers(graph);
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    if (graph.operations[i].rule == &kinds::index_copy) {
      take_rope(graph, readers, static_cast<int>(i));
    }
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
