#include "graph/plan_cache.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "gpu/lifetime.hpp"
#include "graph/passes.hpp"

namespace weft::graph {
namespace {

/// More launches than this are forgotten, all at once: programs whose shapes never repeat gain nothing from being remembered.
constexpr std::size_t most_launches = 20000;

/// A hash that grows number by number.
class Hash {
 public:
  void add(std::uint64_t number) {
    state_ = (state_ ^ number) * 0x9E3779B97F4A7C15U;
    state_ ^= state_ >> 29U;
  }
  void add(const Shape& shape) {
    add(shape.size());
    for (const std::uint64_t extent : shape) add(extent);
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

/// Equal for equal graphs. Of the attributes, only what tells common expressions apart: the rest is compared.
std::uint64_t hash_of(const Graph& graph) {
  Hash hash;
  for (const Operation& operation : graph.operations) {
    hash.add(std::bit_cast<std::uintptr_t>(operation.rule));
    hash.add(operation.attributes.index());
    if (const auto* map = std::get_if<MapAttributes>(&operation.attributes)) {
      hash.add(std::hash<std::string_view>{}(map->function));
      for (const double scalar : map->scalars) hash.add(std::bit_cast<std::uint64_t>(scalar));
    }
    for (const Edge& input : operation.inputs) {
      hash.add((static_cast<std::uint64_t>(input.node + 1) << 8U) + input.output);
    }
    for (const Type& type : operation.types) {
      hash.add(static_cast<std::uint64_t>(type.dtype));
      hash.add(type.shape);
    }
    for (const Storage& storage : operation.storage) hash.add(storage.view.offset);
  }
  for (const Edge& output : graph.outputs) {
    hash.add((static_cast<std::uint64_t>(output.node + 1) << 8U) + output.output);
  }
  return hash.value();
}

/// For each result of each leaf, the number of the first one in the same buffer.
std::vector<std::size_t> sharing_of(const Graph& graph) {
  std::vector<std::size_t> out;
  std::unordered_map<std::uint64_t, std::size_t> first;
  for (const Operation& operation : graph.operations) {
    for (const Storage& storage : operation.storage) {
      out.push_back(first.try_emplace(storage.buffer.id(), out.size()).first->second);
    }
  }
  return out;
}

bool same_view(const ops::View& a, const ops::View& b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.shape == b.shape && a.stride == b.stride &&
         a.offset == b.offset;
}

/// The function of a checkpoint is for gradients alone, and another one in each run.
bool same(const Attributes& a, const Attributes& b) {
  return a.index() == b.index() && (std::holds_alternative<CheckpointAttributes>(a) || a == b);
}

bool same(const Operation& a, const Operation& b) {
  return a.rule == b.rule && a.inputs == b.inputs && a.types == b.types &&
         same(a.attributes, b.attributes) &&
         std::ranges::equal(a.storage, b.storage, [](const Storage& x, const Storage& y) {
           return same_view(x.view, y.view);
         });
}

bool same(const Graph& a, const Graph& b) {
  return a.outputs == b.outputs &&
         std::ranges::equal(a.operations, b.operations,
                            [](const Operation& x, const Operation& y) { return same(x, y); });
}

std::size_t distinct(const std::vector<Edge>& edges) {
  return std::set<Edge>(edges.begin(), edges.end()).size();
}

/// All passes but the one that computes constants, since the leaves have other elements the next time. Tensors that the
/// program has two handles of stay two tensors.
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

Result<std::shared_ptr<Prepared>> prepare(const Graph& graph, DeviceData& device) {
  const auto better = optimized(graph, device);
  if (!better) return std::unexpected(better.error());
  auto program = lower(*better, device.device.caps(), {});
  if (!program) return std::unexpected(program.error());
  auto kernels = device.executor.kernels(program->dispatches);
  if (!kernels) return std::unexpected(kernels.error());

  auto out = std::make_shared<Prepared>();
  out->sharing = sharing_of(graph);
  out->pattern = graph;
  out->layout = lay_out(*program, device.device.caps());
  out->kernels = std::move(*kernels);
  std::map<std::uint64_t, Prepared::Source> places;
  for (std::size_t i = 0; i < graph.operations.size(); ++i) {
    Operation& operation = out->pattern.operations[i];
    operation.variable.reset();
    if (std::holds_alternative<CheckpointAttributes>(operation.attributes)) {
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

Result<std::shared_ptr<Prepared>> PlanCache::find(const Graph& graph, DeviceData& device) {
  const std::uint64_t opened = gpu::identity(device.device);
  if (opened != std::exchange(opened_, opened) || launches_ > most_launches) {
    plans_.clear();
    launches_ = 0;
  }
  const std::uint64_t hash = hash_of(graph);
  const auto [first, last] = plans_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (same(at->second->pattern, graph) && at->second->sharing == sharing_of(graph)) {
      ++counts_.found;
      counts_.launches += at->second->kernels.size();
      return at->second;
    }
  }
  auto made = prepare(graph, device);
  if (!made) return made;
  ++counts_.made;
  counts_.launches += (*made)->kernels.size();
  launches_ += (*made)->kernels.size() + 1;
  plans_.emplace(hash, *made);
  return made;
}

}  // namespace weft::graph
