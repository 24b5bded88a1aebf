#include "graph/evaluate.hpp"

#include <algorithm>
#include <unordered_map>

#include "graph/graph.hpp"
#include "graph/kinds.hpp"
#include "graph/plan_cache.hpp"
#include "graph/program.hpp"
#include "graph/recover.hpp"

namespace weft::graph {
namespace {

/// The nodes below some values that have no elements yet, each with the number of times that others of them read it.
std::unordered_map<Node*, long> pending_below(std::span<const Value> values) {
  std::unordered_map<Node*, long> reads;
  std::vector<Node*> pending;
  for (const Value& value : values) {
    renew(*value.node);
    if (!value.node->computed() && reads.try_emplace(value.node.get(), 0).second) {
      pending.push_back(value.node.get());
    }
  }
  while (!pending.empty()) {
    Node* node = pending.back();
    pending.pop_back();
    for (const Value& input : node->inputs) {
      if (input) renew(*input.node);
      if (!input || input.node->computed()) continue;
      const auto [found, is_new] = reads.try_emplace(input.node.get(), 0);
      ++found->second;
      if (is_new) pending.push_back(input.node.get());
    }
  }
  return reads;
}

/// Shared handles of the nodes in `reads` that have an owner besides each other. Their results stay.
std::vector<std::shared_ptr<Node>> owned(const std::unordered_map<Node*, long>& reads) {
  std::vector<std::shared_ptr<Node>> out;
  for (const auto& [node, count] : reads) {
    std::shared_ptr<Node> handle = node->shared_from_this();
    if (handle.use_count() > count + 1) out.push_back(std::move(handle));
  }
  // In the order in which they were made, so that the same program gives the same plan.
  std::ranges::sort(out, {}, [](const auto& node) { return node->number; });
  return out;
}

/// The leaves' buffers in a plan's external blocks, for as long as it runs: a plan that is remembered keeps nothing alive.
class Lent {
 public:
  Lent(Prepared& prepared, const Graph& graph) : prepared_(prepared) {
    for (const Prepared::Source& from : prepared.sources) {
      prepared.program.blocks[from.block].buffer =
          graph.operations[from.operation].storage[from.output].buffer;
    }
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    for (const Prepared::Source& from : prepared_.sources) {
      prepared_.program.blocks[from.block].buffer = {};
    }
  }

 private:
  Prepared& prepared_;
};

void evaluate_once(std::span<const Value> values, const std::shared_ptr<DeviceData>& device) {
  const auto reads = pending_below(values);
  if (reads.empty()) return;
  const std::vector<std::shared_ptr<Node>> kept = owned(reads);
  std::vector<Value> outputs;
  for (const auto& node : kept) {
    for (std::uint32_t i = 0; i < node->types.size(); ++i) outputs.push_back({node, i});
  }
  const Graph graph = collect(outputs, {}, {});
  if (!device->plans) device->plans = std::make_shared<PlanCache>();
  const std::shared_ptr<Prepared> prepared = unwrap(device->plans->find(graph, *device));
  const Program& program = prepared->program;
  const Lent lent(*prepared, graph);
  const Placed placed = unwrap(place(program, prepared->layout, device->device));
  gpu::Stream stream = device->device.stream();
  unwrap(device->executor.run(stream, program.dispatches, prepared->kernels, placed.slices));
  unwrap(stream.submit());
  std::size_t next = 0;
  for (const auto& node : kept) {
    std::vector<Storage> storage;
    for (std::size_t i = 0; i < node->types.size(); ++i) {
      ops::View view = program.outputs[next++];
      const gpu::Slice& slice = placed.slices[static_cast<std::size_t>(view.slot)];
      view.slot = -1;
      storage.push_back({slice.buffer, view});
    }
    node->storage = std::move(storage);
    if (!node->tracked) node->inputs.clear();
  }
}

}  // namespace

void evaluate(std::span<const Value> values) {
  if (values.empty()) return;
  const std::shared_ptr<DeviceData> device = values.front().node->device;
  const std::lock_guard lock(device->mutex);
  try {
    evaluate_once(values, device);
  } catch (const Error& error) {
    if (!recovered_from(*device, error)) throw;
    evaluate_once(values, device);
  }
}

bool is_traced(const Value& value) {
  return std::ranges::any_of(pending_below({&value, 1}),
                             [](const auto& below) { return below.first->rule == &kinds::input; });
}

}  // namespace weft::graph
