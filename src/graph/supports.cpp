#include <mutex>

#include "base/format.hpp"
#include "graph/graph.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "graph/passes.hpp"
#include "graph/program.hpp"
#include "weft/memory.hpp"

namespace weft {
namespace {

/// The launches of a function of inputs that have no elements.
graph::Program planned(const std::shared_ptr<DeviceData>& device,
                       const std::vector<TensorType>& types,
                       const std::function<Tensor(const std::vector<Tensor>&)>& function) {
  std::vector<Tensor> inputs;
  std::vector<graph::Value> stand_ins;
  for (const TensorType& type : types) {
    inputs.push_back(graph::make_input(device, {type.dtype, type.shape}));
    stand_ins.push_back(Access::value(inputs.back()));
  }
  const Tensor result = function(inputs);
  // What only looks at an input in another way is nothing to plan.
  graph::Value value = Access::value(result);
  if (value.node->rule->lower == nullptr || value.node->computed()) {
    value = Access::value(graph::make(graph::kinds::copy, {}, {result}, value.node->where));
  }
  graph::Graph graph = graph::collect(std::span(&value, 1), {}, stand_ins);
  // Folding constants would compute them.
  unwrap(graph::run_passes(graph, *device, "fold", [](std::string_view, const graph::Graph&) {}));
  return unwrap(graph::lower(graph, device->device.caps(), {.own_outputs = true}));
}

}  // namespace

Support supports(const Device& device, const std::vector<TensorType>& inputs,
                 const std::function<Tensor(const std::vector<Tensor>&)>& function) {
  if (!function) throw Error(ErrorCode::invalid_argument, "supports() was given no function.");
  const std::shared_ptr<DeviceData>& data = Access::data(device);
  const std::lock_guard lock(data->mutex);
  try {
    const graph::Program program = planned(data, inputs, function);
    const std::uint64_t most = data->device.caps().max_buffer;
    for (const graph::Block& block : program.blocks) {
      if (block.bytes <= most) continue;
      return {false,
              formatted("A buffer of {} bytes would be needed; the largest of this device has {}.",
                        block.bytes, most),
              0};
    }
    return {true, "", program.dispatches.size()};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::device_lost) throw;
    return {false, error.what(), 0};
  }
}

}  // namespace weft
