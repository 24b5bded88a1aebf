#pragma once

#include <ggml-backend-impl.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "graph/executor.hpp"

namespace weft::plugin {

/// Graphs that were computed, recorded and ready to be replayed. A graph is known again by everything that its launches
/// depend on: ops and their parameters, types, shapes, strides, and where every tensor lies. Thread-safe.
class GraphCache {
 public:
  /// How often graphs were recorded and replayed, for tests.
  struct Stats {
    std::uint64_t recorded = 0;
    std::uint64_t replayed = 0;
    std::uint64_t nodes = 0;  ///< Nodes of recorded graphs that became launches.
  };

  /// Runs a graph: replays it if it is known, records it otherwise. Does not wait.
  Status compute(graph::Executor& executor, gpu::Stream& stream, ggml_cgraph& graph);
  /// Drops every recording that uses the buffer, so that its memory can go.
  void forget(std::uint64_t buffer_id);
  [[nodiscard]] Stats stats() const;

 private:
  using Key = std::vector<std::uint64_t>;
  struct Entry {
    std::uint64_t hash = 0;
    Key key;
    std::vector<std::uint64_t> buffers;
    gpu::Recording recording;  ///< Empty for a graph without launches.
  };

  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< The most recently used first.
  Stats stats_;
};

}  // namespace weft::plugin
