#include "step_cache.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "api.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"

namespace weft::plugin {
namespace {

/// Steps that are remembered. More are forgotten all at once, before a graph is planned: models
/// have some dozens for each number of tokens.
constexpr std::size_t most_entries = 2048;

/// Which cluster holds these bytes.
std::optional<std::uint32_t> cluster_of(std::span<const Cluster> clusters, ops::Slot slot,
                                        std::uint64_t begin, std::uint64_t end) {
  for (std::uint32_t i = 0; i < clusters.size(); ++i) {
    const Cluster& cluster = clusters[i];
    if (cluster.slot == slot && cluster.begin <= begin && end <= cluster.end) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<Step> make_step(std::span<const ggml_tensor* const> left, const Uses& uses,
                       const PlaceFn& place, const PackedInput& packed, const Caps& caps) {
  Step step;
  if (auto fusion = fusing() ? fuse(left, uses, place, packed, caps) : std::nullopt) {
    step.nodes = fusion->nodes;
    append_shared(step.plan, std::move(fusion->plan));
    step.packed_x = fusion->packed_x;
    step.packed = fusion->packed;
    return step;
  }
  const ggml_tensor& tensor = *left.front();
  const auto doing = [&tensor] {
    return formatted("preparing {} \"{}\"", api().op_name(tensor.op), tensor.name);
  };
  step.nodes = 1;
  auto node = make_node(tensor, place);
  if (!node) return wrap(node.error(), doing());
  if (fusing()) {
    const auto x = packed.prepare(*node, step.plan, caps);
    if (!x) return wrap(x.error(), doing());
    if (*x) {
      step.packed_x = **x;
      step.packed = node->packed;
      step.packs_first = true;
    }
  }
  auto plan = plan_node(*node, caps);
  if (!plan) return wrap(plan.error(), doing());
  append_shared(step.plan, std::move(*plan));
  return step;
}

/// Notes for each binding in which cluster it lies; false where one of them lies in none.
bool StepCache::locate(Entry& entry, std::span<const Cluster> clusters) {
  const auto where_of = [&](ops::Slot slot, std::uint64_t begin,
                            std::uint64_t end) -> std::optional<Where> {
    using Kind = ops::Slot::Kind;
    if (slot.kind() == Kind::scratch) {
      return Where{Where::Kind::scratch, static_cast<std::uint32_t>(slot.number()), begin};
    }
    if (slot.kind() != Kind::caller) return Where{Where::Kind::fixed, 0, begin};
    const auto cluster = cluster_of(clusters, slot, begin, end);
    if (!cluster) return std::nullopt;
    return Where{Where::Kind::cluster, *cluster, begin - clusters[*cluster].begin};
  };
  for (const ops::Dispatch& dispatch : entry.step.plan.dispatches) {
    for (const ops::BoundRange& range : dispatch.ranges) {
      const auto where = where_of(range.slot, range.offset, range.offset + range.size);
      if (!where) return false;
      entry.ranges.push_back(*where);
    }
  }
  if (!entry.step.packed.given()) return true;
  const ops::View& x = entry.step.packed_x;
  const auto where = where_of(x.slot, x.offset, x.offset);
  if (where) entry.packed_x = *where;
  return where.has_value();
}

StepCache::Entry& StepCache::entry_for(std::span<const std::uint64_t> key, Step step,
                                       std::span<const Cluster> clusters) {
  ++stats_.planned;
  auto entry = std::make_unique<Entry>();
  entry->step = std::move(step);
  if (!key.empty() && locate(*entry, clusters)) {
    entry->key.assign(key.begin(), key.end());
    const std::uint64_t hash = hash_bytes(std::as_bytes(key));
    return *entries_.emplace(hash, std::move(entry))->second;
  }
  entry->ranges.clear();
  return *passing_.emplace_back(std::move(entry));
}

Result<StepCache::Planned> StepCache::plan(std::span<const ggml_tensor* const> nodes,
                                           const Uses& uses, const PlaceFn& place,
                                           const Caps& caps) {
  if (entries_.size() > most_entries) entries_.clear();
  passing_.clear();
  placed_.clear();
  clusters_.clear();
  Planned out;
  PackedInput packed;
  StepKeys keys(nodes, uses, place, caps);
  for (std::size_t at = 0; at < nodes.size();) {
    const bool known_places = keys.make(at, packed);
    const auto key = known_places ? keys.key() : std::span<const std::uint64_t>{};
    Placed placed{nullptr, clusters_.size()};
    const auto [first, last] = entries_.equal_range(hash_bytes(std::as_bytes(key)));
    for (auto found = first; known_places && found != last; ++found) {
      if (std::ranges::equal(found->second->key, key)) placed.entry = found->second.get();
    }
    if (placed.entry != nullptr) {
      ++stats_.reused;
    } else {
      auto step = make_step(nodes.subspan(at), uses, place, packed, caps);
      if (!step) return std::unexpected(step.error());
      placed.entry = &entry_for(key, std::move(*step), keys.clusters());
    }
    clusters_.insert(clusters_.end(), keys.clusters().begin(), keys.clusters().end());
    placed_.push_back(placed);

    const Step& step = placed.entry->step;
    const auto pack = [&] {
      if (!step.packed.given()) return;
      ops::View x = step.packed_x;
      if (placed.entry->packed_x.kind == Where::Kind::cluster) {
        const Cluster& cluster = clusters_[placed.first_cluster + placed.entry->packed_x.number];
        x.slot = cluster.slot;
        x.offset = cluster.begin + placed.entry->packed_x.offset;
      }
      packed.made(x, step.packed);
      out.scratch.resize(std::max(out.scratch.size(), step.packed.slot.number() + 1));
      std::uint64_t& bytes = out.scratch[step.packed.slot.number()];
      bytes = std::max(bytes, step.packed.bytes().size());
    };
    if (step.packs_first) pack();
    for (const ggml_tensor* tensor : nodes.subspan(at, step.nodes)) packed.written(*tensor, place);
    if (!step.packs_first) pack();
    out.scratch.resize(std::max(out.scratch.size(), step.plan.scratch.size()));
    for (std::size_t i = 0; i < step.plan.scratch.size(); ++i) {
      out.scratch[i] = std::max(out.scratch[i], step.plan.scratch[i]);
    }
    out.fused += step.nodes - 1;
    out.launches += step.plan.dispatches.size();
    at += step.nodes;
  }
  return out;
}

/// Compiles what is new, in parallel.
Status StepCache::find_kernels(graph::Executor& executor) {
  std::vector<Entry*> fresh;
  std::vector<ops::Dispatch> dispatches;
  for (const Placed& placed : placed_) {
    Entry& entry = *placed.entry;
    std::vector<ops::Dispatch>& own = entry.step.plan.dispatches;
    if (own.empty() || !entry.kernels.empty() || std::ranges::contains(fresh, &entry)) continue;
    fresh.push_back(&entry);
    dispatches.insert(dispatches.end(), own.begin(), own.end());
  }
  if (fresh.empty()) return {};
  const auto kernels = executor.kernels(dispatches);
  if (!kernels) return std::unexpected(kernels.error());
  auto next = kernels->begin();
  for (Entry* entry : fresh) {
    const auto end = next + static_cast<std::ptrdiff_t>(entry->step.plan.dispatches.size());
    entry->kernels.assign(next, end);
    next = end;
  }
  return {};
}

/// Puts the bindings of a step where its clusters lie; behind the buffers comes the scratch.
void StepCache::place_ranges(const Placed& placed, std::size_t buffers) const {
  Entry& entry = *placed.entry;
  auto where = entry.ranges.begin();
  for (ops::Dispatch& dispatch : entry.step.plan.dispatches) {
    for (ops::BoundRange& range : dispatch.ranges) {
      if (entry.ranges.empty()) {  // It lies where it was planned.
        if (range.slot.kind() == ops::Slot::Kind::scratch) {
          range.slot = ops::Slot(buffers + range.slot.number());
        }
        continue;
      }
      if (where->kind == Where::Kind::scratch) range.slot = ops::Slot(buffers + where->number);
      if (where->kind == Where::Kind::cluster) {
        const Cluster& cluster = clusters_[placed.first_cluster + where->number];
        range.slot = cluster.slot;
        range.offset = cluster.begin + where->offset;
      }
      ++where;
    }
  }
}

Result<gpu::Recording> StepCache::record(graph::Executor& executor, gpu::Stream& stream,
                                         const Planned& planned,
                                         std::span<const gpu::Buffer> buffers) {
  if (planned.launches == 0) return gpu::Recording{};
  if (Status ok = find_kernels(executor); !ok) return std::unexpected(ok.error());
  std::vector<gpu::Slice> parts;
  for (const gpu::Buffer& buffer : buffers) parts.push_back({buffer, 0, buffer.capacity()});
  gpu::Device device = executor.device();
  for (const std::uint64_t bytes : planned.scratch) {
    auto buffer = device.allocate(std::max<std::uint64_t>(bytes, 16), "scratch");
    if (!buffer) return wrap(buffer.error(), "allocating scratch");
    parts.push_back({*buffer, 0, buffer->capacity()});
  }
  if (Status ok = stream.begin_recording(); !ok) return std::unexpected(ok.error());
  Status ran;
  for (std::size_t i = 0; i < placed_.size() && ran; ++i) {
    place_ranges(placed_[i], buffers.size());
    const Entry& entry = *placed_[i].entry;
    ran = executor.run(stream, entry.step.plan.dispatches, entry.kernels, parts);
  }
  auto recording = stream.end_recording();  // In any case: the stream must not stay recording.
  if (!ran) return std::unexpected(ran.error());
  return recording;
}

void StepCache::forget_all() {
  entries_.clear();
  passing_.clear();
  placed_.clear();
}

}  // namespace weft::plugin
