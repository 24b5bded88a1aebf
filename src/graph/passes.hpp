#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace weft::graph {

/// A change to a graph that keeps its results. src/graph/passes/ has one file for each.
struct Pass {
  std::string_view name;
  std::string_view summary;
  Status (*run)(Graph& graph, DeviceData& device);
};

/// Every pass, in the order in which they run.
std::span<const Pass> all_passes();

/// The passes that are left out of `all_passes`: names separated by commas, "all", or the same with
/// a minus in front of each name. An unknown name is an error that lists the known ones.
Result<std::vector<std::string_view>> parse_passes(std::string_view without);

/// Runs all passes but those in `without` and in WEFT_PASSES. `after` is called with each name.
Status run_passes(Graph& graph, DeviceData& device, std::string_view without,
                  const std::function<void(std::string_view, const Graph&)>& after);

namespace passes {

Status fold(Graph& graph, DeviceData& device);
Status share(Graph& graph, DeviceData& device);
Status views(Graph& graph, DeviceData& device);
Status attend(Graph& graph, DeviceData& device);
Status retype(Graph& graph, DeviceData& device);
Status join(Graph& graph, DeviceData& device);
Status epilogue(Graph& graph, DeviceData& device);
Status residual(Graph& graph, DeviceData& device);
Status pack(Graph& graph, DeviceData& device);
Status cache(Graph& graph, DeviceData& device);
Status fuse(Graph& graph, DeviceData& device);
Status drop(Graph& graph, DeviceData& device);

}  // namespace passes

/// How often each operation's outputs are read: by operations, as a result or as an update.
std::vector<int> count_readers(const Graph& graph);

/// Makes everything that reads `from` read `to` instead.
void redirect(Graph& graph, Edge from, Edge to);

/// Removes the operations that nothing reads, and puts the others in an order in which each comes
/// after its inputs.
void compact(Graph& graph);

}  // namespace weft::graph
