#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "gpu/launches.hpp"
#include "graph/graph.hpp"
#include "graph/program.hpp"

namespace weft::graph {

/// A graph that was optimized and lowered, ready to run on other leaves of the same types.
struct Prepared {
  /// Where the buffer of an external block comes from: a leaf of the graph.
  struct Source {
    std::size_t block = 0;
    std::size_t operation = 0;
    std::size_t output = 0;
  };
  Graph pattern;                     ///< As it was collected, without buffers.
  std::vector<std::size_t> sharing;  ///< Which leaves lie in one buffer; see sharing_of().
  Program program;                   ///< Its external blocks have no buffer between runs.
  Layout layout;
  std::vector<gpu::Kernel> kernels;  ///< One per launch.
  std::size_t runs = 0;
  gpu::Launches launches;  ///< The same with their parameters, from the second run on.
  std::vector<Source> sources;
};

/// The plans of expressions that were computed before: the same operations on tensors of the same
/// types find theirs, so that loops are planned, optimized and compiled once. One per device;
/// whoever uses it holds the device's lock.
class PlanCache {
 public:
  /// The plan of the outputs of an expression, whose nodes are as below() lists them; it is made if
  /// there is none yet.
  Result<std::shared_ptr<Prepared>> find(std::span<Node* const> nodes,
                                         std::span<const Value> outputs, DeviceData& device);

  /// What find() did so far.
  struct Counts {
    std::size_t made = 0;
    std::size_t found = 0;
    std::size_t launches = 0;  ///< Of all plans that it gave.
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// When there are more launches than this, all are forgotten at once: programs whose shapes never
  /// repeat gain nothing from being remembered.
  void set_most_launches(std::size_t count) { most_launches_ = count; }
  /// Of all plans that are kept.
  [[nodiscard]] std::size_t kept_launches() const { return launches_; }

 private:
  std::unordered_multimap<std::uint64_t, std::shared_ptr<Prepared>> plans_;
  Counts counts_;
  std::size_t most_launches_ = 20000;
  std::size_t launches_ = 0;  ///< Of all plans: what their memory grows with.
  std::uint64_t opened_ = 0;  ///< Which of the devices that took each other's place they are for.
};

}  // namespace weft::graph
