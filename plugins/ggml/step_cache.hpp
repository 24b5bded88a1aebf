#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "graph/executor.hpp"
#include "step_key.hpp"

namespace weft::plugin {

/// One or several nodes as launches.
struct Step {
  std::size_t nodes = 0;
  ops::Plan plan;            ///< Its scratch as append_shared() numbers it.
  ops::View packed_x{};      ///< What it leaves packed, if anything,
  ops::View packed{};        ///< and where.
  bool packs_first = false;  ///< Before it computes the nodes, and not by computing them.
};

/// The step at the start of what is left of a graph: what can be joined, or one node.
Result<Step> make_step(std::span<const ggml_tensor* const> left, const Uses& uses,
                       const PlaceFn& place, const PackedInput& packed, const Caps& caps);

/// Steps that were planned before, with their kernels, and where their clusters lie now: so that
/// the layers of a model are planned once, and a graph of another depth only where it differs.
class StepCache {
 public:
  struct Stats {
    std::uint64_t planned = 0;
    std::uint64_t reused = 0;
  };

  /// The launches of a graph, until the next one is planned.
  struct Planned {
    std::uint64_t fused = 0;  ///< Nodes that others took along.
    std::size_t launches = 0;
    std::vector<std::uint64_t> scratch{};  ///< Bytes.
  };
  Result<Planned> plan(std::span<const ggml_tensor* const> nodes, const Uses& uses,
                       const PlaceFn& place, const Caps& caps);
  /// What was planned last as a recording; empty where there are no launches. `buffers` are those
  /// that `place` numbered.
  Result<gpu::Recording> record(graph::Executor& executor, gpu::Stream& stream,
                                const Planned& planned, std::span<const gpu::Buffer> buffers);
  /// The device of the kernels is gone.
  void forget_all();
  [[nodiscard]] const Stats& stats() const { return stats_; }

 private:
  /// Where a binding of a launch lies: in a cluster, in scratch, or where it is the same for all.
  struct Where {
    enum class Kind : std::uint8_t { cluster, scratch, fixed };
    Kind kind = Kind::fixed;
    std::uint32_t number = 0;
    std::uint64_t offset = 0;
  };
  struct Entry {
    std::vector<std::uint64_t> key;
    Step step;
    std::vector<Where> ranges;  ///< Of all launches, one behind the other.
    Where packed_x;
    std::vector<gpu::Kernel> kernels;  ///< None until it is recorded.
  };
  struct Placed {
    Entry* entry = nullptr;
    std::size_t first_cluster = 0;
  };

  Entry& entry_for(std::span<const std::uint64_t> key, Step step,
                   std::span<const Cluster> clusters);
  static bool locate(Entry& entry, std::span<const Cluster> clusters);
  void place_ranges(const Placed& placed, std::size_t buffers) const;
  Status find_kernels(graph::Executor& executor);

  std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Entry>> passing_;  ///< Steps that cannot be placed elsewhere.
  std::vector<Placed> placed_;                   ///< The steps of the graph that was planned last,
  std::vector<Cluster> clusters_;                ///< and their clusters.
  Stats stats_;
};

}  // namespace weft::plugin
