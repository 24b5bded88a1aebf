#include "graph/plan_cache.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "gpu/lifetime.hpp"
#include "graph/attributes/checkpoint.hpp"
#include "graph/attributes/map.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph {
namespace {

/// What a node is in the graph of an expression: one that has its elements is a leaf.
const Rule* rule_of(const Node& node) {
  return node.computed() && node.rule != &kinds::variable ? &kinds::value : node.rule;
}

Edge edge_of(const Value& value) {
  return value ? Edge{static_cast<int>(value.node->place), value.output} : Edge{};
}

/// Equal for equal expressions. Of the attributes, only what tells common ones apart: the rest is
/// compared.
std::uint64_t hash_of(std::span<Node* const> nodes, std::span<const Value> outputs) {
  thread_local std::vector<std::uint64_t> numbers;  // memory that the next expression takes too
  numbers.clear();
  const auto add = [](const Value& value) {
    const Edge edge = edge_of(value);
    numbers.push_back((static_cast<std::uint64_t>(edge.node + 1) << 8U) + edge.output);
  };
  for (const Node* const node : nodes) {
    numbers.push_back(std::bit_cast<std::uintptr_t>(rule_of(*node)));
    for (const Type& type : node->types) {
      numbers.push_back(static_cast<std::uint64_t>(type.dtype));
      numbers.push_back(type.shape.size());
      numbers.insert(numbers.end(), type.shape.begin(), type.shape.end());
    }
    if (node->computed()) {
      for (const Storage& storage : node->storage) numbers.push_back(storage.view.offset);
      continue;
    }
    numbers.push_back(std::bit_cast<std::uintptr_t>(node->attributes.kind()));
    if (const auto* map = node->attributes.get_if<MapAttributes>()) {
      numbers.push_back(hash_bytes(std::as_bytes(std::span(map->function))));
      for (const double scalar : map->scalars) {
        numbers.push_back(std::bit_cast<std::uint64_t>(scalar));
      }
    }
    for (const Value& input : node->inputs) add(input);
  }
  for (const Value& output : outputs) add(output);
  return hash_bytes(std::as_bytes(std::span(numbers)));
}

/// For each result of each leaf, the number of the first one in the same buffer.
std::vector<std::size_t> sharing_of(std::span<Node* const> nodes) {
  std::vector<std::pair<std::uint64_t, std::size_t>> results;  // by buffer, then by number
  for (const Node* const node : nodes) {
    for (const Storage& storage : node->storage) {
      results.emplace_back(storage.buffer.id(), results.size());
    }
  }
  std::ranges::sort(results);
  std::vector<std::size_t> out(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& [buffer, number] = results[i];
    const bool again = i > 0 && results[i - 1].first == buffer;
    out[number] = again ? out[results[i - 1].second] : number;
  }
  return out;
}

bool same_view(const ops::View& a, const ops::View& b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.shape == b.shape && a.stride == b.stride &&
         a.offset == b.offset;
}

/// The function of a checkpoint is for gradients alone, and another one in each run.
bool same(const Attributes& a, const Attributes& b) {
  return a.kind() == b.kind() && (a.get_if<CheckpointAttributes>() != nullptr || a == b);
}

bool same(const Operation& operation, const Node& node) {
  if (operation.rule != rule_of(node) || operation.types != node.types) return false;
  const auto same_place = [](const Storage& x, const Storage& y) {
    return same_view(x.view, y.view);
  };
  if (node.computed()) return std::ranges::equal(operation.storage, node.storage, same_place);
  return same(operation.attributes, node.attributes) &&
         std::ranges::equal(operation.inputs, node.inputs, {}, {}, edge_of);
}

bool same(const Graph& graph, std::span<Node* const> nodes, std::span<const Value> outputs) {
  return std::ranges::equal(graph.outputs, outputs, {}, {}, edge_of) &&
         std::ranges::equal(graph.operations, nodes,
                            [](const Operation& x, const Node* y) { return same(x, *y); });
}

std::size_t distinct(const std::vector<Edge>& edges) {
  return std::set<Edge>(edges.begin(), edges.end()).size();
}

/// All passes but the one that computes constants, since the leaves have other elements the next
/// time. Tensors that the program has two handles of stay two tensors.
Result<Graph> optimized(const Graph& graph, DeviceData& device) {
  for (const std::string_view without : {"fold", "fold,share"}) {
    Graph out = graph;
    if (const Status ok = run_passes(out, device, without, {}); !ok) {
      return std::unexpected(ok.error());
    }
    if (distinct(out.outputs) == distinct(graph.outputs)) return out;
  }
  return graph;
}

Result<std::shared_ptr<Prepared>> prepare(const Graph& graph, std::vector<std::size_t> sharing,
                                          DeviceData& device) {
  const auto better = optimized(graph, device);
  if (!better) return std::unexpected(better.error());
  auto program = lower(*better, device.device.caps(), {});
  if (!program) return std::unexpected(program.error());
  auto kernels = device.executor.kernels(program->dispatches);
  if (!kernels) return std::unexpected(kernels.error());

  auto out = std::make_shared<Prepared>();
  out->sharing = std::move(sharing);
  out->pattern = graph;
  out->layout = lay_out(*program, device.device.caps());
  out->kernels = std::move(*kernels);
  std::map<std::uint64_t, Prepared::Source> places;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    Operation& operation = out->pattern.operations[i];
    operation.variable.reset();
    if (operation.attributes.get_if<CheckpointAttributes>() != nullptr) {
      operation.attributes = CheckpointAttributes{};
    }
    for (std::size_t k = 0; k < operation.storage.size(); ++k) {
      places.try_emplace(operation.storage[k].buffer.id(), Prepared::Source{0, i, k});
      operation.storage[k].buffer = {};
    }
  }
  for (std::size_t i = 0; i < program->blocks.size(); ++i) {
    Block& block = program->blocks[i];
    if (block.place != Block::Place::external) continue;
    Prepared::Source source = places.at(block.buffer.id());
    source.block = i;
    out->sources.push_back(source);
    block.buffer = {};
  }
  out->program = std::move(*program);
  return out;
}

}  // namespace

Result<std::shared_ptr<Prepared>> PlanCache::find(std::span<Node* const> nodes,
                                                  std::span<const Value> outputs,
                                                  DeviceData& device) {
  const std::uint64_t opened = gpu::identity(device.device);
  if (opened != std::exchange(opened_, opened) || launches_ > most_launches_) {
    plans_.clear();
    launches_ = 0;
  }
  const std::uint64_t hash = hash_of(nodes, outputs);
  std::vector<std::size_t> sharing = sharing_of(nodes);
  const auto [first, last] = plans_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (at->second->sharing == sharing && same(at->second->pattern, nodes, outputs)) {
      ++counts_.found;
      counts_.launches += at->second->kernels.size();
      return at->second;
    }
  }
  auto made = prepare(collect(outputs, {}, {}), std::move(sharing), device);
  if (!made) return made;
  ++counts_.made;
  counts_.launches += (*made)->kernels.size();
  launches_ += (*made)->kernels.size() + 1;
  plans_.emplace(hash, *made);
  return made;
}

}  // namespace weft::graph
