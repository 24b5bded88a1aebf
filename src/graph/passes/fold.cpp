#include <algorithm>

#include "graph/attributes/map.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"
#include "graph/program.hpp"

namespace weft::graph::passes {
namespace {

/// Results of this size and more are computed again in each run, rather than kept for ever.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

bool is_source(const Operation& operation) {
  const auto* map = operation.attributes.get_if<MapAttributes>();
  return operation.rule == &kinds::map && operation.inputs.empty() && map != nullptr;
}

}  // namespace

Status fold(Graph& graph, DeviceData& device) {
  // Constant: a value, or computed from constants alone. Fills stay as they are: kernels make them
  // cheaper than a read.
  std::vector<bool> constant(graph.operations.size(), false);
  std::vector<bool> read(graph.operations.size(), false);
  std::vector<bool> result(graph.operations.size(), false);  // needs memory of its own in each run
  for (const Edge& output : graph.outputs) result[static_cast<std::size_t>(output.node)] = true;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    const bool small = std::ranges::all_of(operation.types, [](const Type& type) {
      return type.count() * size_of(type.dtype) < most_bytes;
    });
    const bool inner =
        !operation.inputs.empty() && std::ranges::all_of(operation.inputs, [&](Edge input) {
          return !input.given() || constant[static_cast<std::size_t>(input.node)];
        });
    constant[i] =
        operation.rule == &kinds::value || is_source(operation) || (inner && small && !result[i]);
    if (constant[i]) continue;
    for (const Edge& input : operation.inputs) {
      if (input.given()) read[static_cast<std::size_t>(input.node)] = true;
    }
  }
  // Views of constants stay views; what they look at is computed.
  for (std::size_t i = graph.operations.size(); i-- > 0;) {
    const Operation& operation = graph.operations[i];
    if (!read[i] || !constant[i] || operation.rule->view == nullptr) continue;
    read[static_cast<std::size_t>(operation.inputs.front().node)] = true;
  }
  Graph constants{.operations = graph.operations};
  std::vector<int> folded;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    if (!read[i] || !constant[i] || operation.rule->lower == nullptr || is_source(operation)) {
      continue;
    }
    folded.push_back(static_cast<int>(i));
    for (std::uint32_t k = 0; k < operation.types.size(); ++k) {
      constants.outputs.push_back({static_cast<int>(i), k});
    }
  }
  if (folded.empty()) return {};
  compact(constants);
  const auto program = lower(constants, device.device.caps(), {});
  if (!program) return std::unexpected(program.error());
  const auto placed = place(*program, device.device);
  if (!placed) return std::unexpected(placed.error());
  gpu::Stream stream = device.device.stream();
  if (const Status ok = device.executor.run(stream, program->dispatches, placed->slices); !ok) {
    return ok;
  }
  if (const Status ok = stream.submit(); !ok) return ok;
  std::size_t next = 0;
  for (const int node : folded) {
    Operation& operation = graph.at(node);
    operation.rule = &kinds::value;
    operation.attributes = {};
    operation.inputs.clear();
    for (std::size_t k = 0; k < operation.types.size(); ++k) {
      ops::View view = program->outputs[next++];
      const gpu::Buffer buffer = placed->slices[view.slot.number()].buffer;
      view.slot = {};
      operation.storage.push_back({buffer, view});
    }
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
