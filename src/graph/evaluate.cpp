#include "graph/evaluate.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/format.hpp"
#include "base/math.hpp"
#include "graph/graph.hpp"
#include "graph/kinds.hpp"
#include "graph/plan_cache.hpp"
#include "graph/program.hpp"
#include "graph/recover.hpp"

namespace weft::graph {
namespace {

/// Shared handles of the nodes of an expression that have an owner besides each other. Their
/// results stay.
std::vector<std::shared_ptr<Node>> owned(const std::vector<Node*>& nodes) {
  std::vector<std::shared_ptr<Node>> out;
  for (Node* const node : nodes) {
    if (node->computed()) continue;
    std::shared_ptr<Node> handle = node->shared_from_this();
    if (handle.use_count() > static_cast<long>(node->reads) + 1) out.push_back(std::move(handle));
  }
  return out;
}

/// Whether a derivative can go through a node: it has floats, and nothing stops it.
bool passes_gradients(const Node& node) {
  return node.rule != &kinds::detach &&
         std::ranges::any_of(node.types, [](const Type& type) { return is_float(type.dtype); });
}

/// The tensors that somebody has a handle of, or was given, and that a node was computed from.
std::vector<std::weak_ptr<Node>> origins_of(const Node& node,
                                            const std::unordered_set<const Node*>& handled) {
  std::vector<std::weak_ptr<Node>> out;
  std::unordered_set<const Node*> seen;
  const auto add = [&](const std::shared_ptr<Node>& found) {
    if (found && passes_gradients(*found)) out.push_back(found);
  };
  std::vector<const Node*> pending;
  if (passes_gradients(node)) pending.push_back(&node);
  while (!pending.empty()) {
    const Node& reader = *pending.back();
    pending.pop_back();
    for (const Value& input : reader.inputs) {
      if (!input || !seen.insert(input.node.get()).second || !passes_gradients(*input.node)) {
        continue;
      }
      if (!input.node->computed()) pending.push_back(input.node.get());
      if (input.node->computed() || handled.contains(input.node.get())) add(input.node);
      for (const std::weak_ptr<Node>& before : input.node->origins) {
        std::shared_ptr<Node> known = before.lock();
        if (known && seen.insert(known.get()).second) add(known);
      }
    }
  }
  return out;
}

/// For nodes that are about to let go of their inputs.
void note_origins(const std::vector<std::shared_ptr<Node>>& kept) {
  std::unordered_set<const Node*> handled;
  for (const auto& node : kept) handled.insert(node.get());
  for (const auto& node : kept) {
    if (!node->tracked) node->origins = origins_of(*node, handled);
  }
}

/// A view that forgets what it looks at: the variable below it keeps its memory from now on.
void fix_base(const Node& view) {
  const Node* node = &view;
  while (node->rule->view != nullptr && !node->inputs.empty()) {
    Node* const below = node->inputs.front().node.get();
    below->fixed = true;
    node = below;
  }
}

/// The leaves' buffers in a plan's external blocks, for as long as it runs: a plan that is
/// remembered keeps nothing alive.
class Lent {
 public:
  Lent(Prepared& prepared, const std::vector<Node*>& nodes) : prepared_(prepared) {
    for (const Prepared::Source& from : prepared.sources) {
      prepared.program.blocks[from.block].buffer =
          nodes[from.operation]->storage[from.output].buffer;
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

/// Whether launches bind buffers that are not the program's.
bool uses_globals(const ops::Dispatch& dispatch) {
  return std::ranges::any_of(dispatch.ranges,
                             [](const ops::BoundRange& range) { return is_global(range.slot); });
}

/// The launches of a plan that comes again, laid down for the runs that follow.
Result<gpu::Launches> laid_down(const Prepared& prepared, const gpu::Device& device) {
  std::vector<gpu::FixedLaunch> launches;
  for (std::size_t i = 0; i < prepared.kernels.size(); ++i) {
    const ops::Dispatch& dispatch = prepared.program.dispatches[i];
    gpu::FixedLaunch& launch = launches.emplace_back();
    launch.kernel = prepared.kernels[i];
    const auto bytes = std::as_bytes(std::span(dispatch.params));
    launch.params.assign(bytes.begin(), bytes.end());
    launch.params.resize(round_up<std::size_t>(launch.params.size(), 16));
    launch.grid = {dispatch.grid.x, dispatch.grid.y, dispatch.grid.z};
    launch.note = dispatch.shapes;
  }
  return gpu::Launches::make(device, std::move(launches));
}

/// Runs a plan on the memory that it has this time.
Status run(gpu::Stream& stream, DeviceData& device, Prepared& prepared,
           std::span<const gpu::Slice> parts) {
  const std::span<const ops::Dispatch> dispatches = prepared.program.dispatches;
  if (prepared.runs++ == 0) {
    return device.executor.run(stream, dispatches, prepared.kernels, parts);
  }
  if (!prepared.launches) {
    auto made = laid_down(prepared, device.device);
    if (!made) return std::unexpected(made.error());
    prepared.launches = std::move(*made);
  }
  std::vector<gpu::Binding> bindings;
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const ops::Dispatch& dispatch = dispatches[i];
    Status ok;
    if (uses_globals(dispatch)) {
      ok = device.executor.run(stream, {&dispatch, 1}, {&prepared.kernels[i], 1}, parts);
    } else {
      bindings.clear();
      for (const ops::BoundRange& range : dispatch.ranges) {
        const gpu::Slice& part = parts[range.slot.number()];
        bindings.push_back({&part.buffer, part.offset + range.offset, range.size});
      }
      ok = prepared.launches.run(stream, i, bindings);
    }
    if (!ok) return wrap(ok.error(), formatted("launching {}", dispatch.kernel.label));
  }
  return {};
}

void evaluate_once(std::span<const Value> values, const std::shared_ptr<DeviceData>& device) {
  const std::vector<Node*> nodes = below(values);
  const std::vector<std::shared_ptr<Node>> kept = owned(nodes);
  if (kept.empty()) return;
  std::vector<Value> outputs;
  for (const auto& node : kept) {
    for (std::uint32_t i = 0; i < node->types.size(); ++i) outputs.push_back({node, i});
  }
  if (!device->plans) device->plans = std::make_shared<PlanCache>();
  const std::shared_ptr<Prepared> prepared = unwrap(device->plans->find(nodes, outputs, *device));
  const Program& program = prepared->program;
  const Lent lent(*prepared, nodes);
  const Placed placed = unwrap(place(program, prepared->layout, device->device));
  gpu::Stream stream = device->device.stream();
  unwrap(run(stream, *device, *prepared, placed.slices));
  unwrap(stream.submit());
  note_origins(kept);
  std::size_t next = 0;
  for (const auto& node : kept) {
    std::vector<Storage> storage;
    for (std::size_t i = 0; i < node->types.size(); ++i) {
      ops::View view = program.outputs[next++];
      const gpu::Slice& slice = placed.slices[view.slot.number()];
      // A result that turned out to be a leaf has no memory of its own to give away.
      const bool own = program.blocks[view.slot.number()].place == Block::Place::output;
      node->fixed = node->fixed || !own;
      view.slot = {};
      storage.push_back({slice.buffer, view});
    }
    node->storage = std::move(storage);
    if (node->tracked) continue;
    if (node->aliases_variable) fix_base(*node);
    node->inputs.clear();
  }
}

}  // namespace

void evaluate(std::span<const Value> values) {
  if (values.empty()) return;
  const std::shared_ptr<DeviceData> device = values.front().node->device;
  const std::lock_guard lock(device->mutex);
  insist(*device, [&] { evaluate_once(values, device); });
}

}  // namespace weft::graph
