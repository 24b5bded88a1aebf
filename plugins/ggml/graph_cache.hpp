#pragma once

#include <ggml.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "graph/executor.hpp"
#include "step_cache.hpp"

namespace weft::plugin {

struct BufferContext;

/// A tensor outside of the memory that graphs write anew each time: what a graph reads of it or
/// writes to it.
struct Touch {
  BufferContext* buffer = nullptr;
  std::uint64_t first = 0;  ///< Bytes of the buffer from here
  std::uint64_t end = 0;    ///< up to here.
  bool reads = false;
  bool writes = false;  ///< All of these bytes, unless it also reads them.
  std::array<char, GGML_MAX_NAME> name{};
};

/// Graphs that were computed, recorded and ready to be replayed. A graph is known again by
/// everything that its launches depend on: ops and their parameters, types, shapes, strides, and
/// where every tensor lies. Thread-safe.
class GraphCache {
 public:
  /// What was run, for tests.
  struct Stats {
    std::uint64_t recorded = 0;  ///< Graphs seen for the first time.
    std::uint64_t replayed = 0;  ///< Graphs that were known.
    std::uint64_t fused = 0;     ///< Nodes that recorded graphs saved by fusing them into others.
    std::array<std::uint64_t, GGML_OP_COUNT> nodes{};  ///< Nodes computed, for each op.
    std::uint64_t launches = 0;                        ///< Of all graphs that were run.
    std::uint64_t planned = 0;  ///< Steps of these graphs that were planned anew,
    std::uint64_t reused = 0;   ///< and those that were known.
    double plan_seconds = 0;    ///< The host's time for planning what was recorded,
    double record_seconds = 0;  ///< and for recording it; compiling kernels is a part of that.
  };

  /// How long graphs of one size took on the device.
  struct Times {
    std::uint64_t count = 0;
    double seconds = 0;
  };

  /// Runs a graph: replays it if it is known, records it otherwise. Does not wait.
  Status compute(graph::Executor& executor, gpu::Stream& stream, ggml_cgraph& graph);
  /// Encodes the graph that came last once more if it came twice in a row: it will probably come
  /// again. To be called before waiting for the device.
  Status encode_ahead(gpu::Stream& stream);
  /// Drops every recording that uses the buffer, so that its memory can go.
  void forget(std::uint64_t buffer_id);
  /// Drops all of them: their device is gone.
  void forget_all();
  [[nodiscard]] Stats stats() const;
  /// From here on every graph is timed as a whole on the device, which waits for it.
  void time_graphs() { timing_ = true; }
  /// The times so far by the number of launches, which are then forgotten.
  std::map<std::size_t, Times> take_times();

 private:
  using Key = std::vector<std::uint64_t>;
  struct Entry {
    std::uint64_t uid = 0;  ///< Of the graph that was run last, if ggml numbers it.
    std::uint64_t hash = 0;
    Key key;
    std::vector<std::uint64_t> buffers;
    gpu::Recording recording;    ///< Empty for a graph without launches.
    std::vector<ggml_op> nodes;  ///< The ops that it computes.
    std::vector<Touch> touches;  ///< In the order of the nodes.
  };

  Status run(const Entry& entry, gpu::Stream& stream);

  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< The most recently used first.
  std::uint64_t repeats_ =
      0;  ///< How often the first of them came again, with no other in between.
  StepCache steps_;
  Stats stats_;
  std::atomic<bool> timing_ = false;
  std::map<std::size_t, Times> times_;
};

}  // namespace weft::plugin
