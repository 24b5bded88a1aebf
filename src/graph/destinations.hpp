#pragma once

#include <cstdint>
#include <map>

#include "graph/graph.hpp"

namespace weft::graph {

/// A place within the result of a concatenation.
struct Destination {
  int concat = -1;            ///< Number of the operation.
  std::uint64_t element = 0;  ///< First element of the place.
};

/// The results that can be computed right where a concatenation wants them, which then has nothing
/// to copy: parts that lie in one piece of it and are not needed elsewhere after the run.
std::map<Edge, Destination> find_destinations(const Graph& graph);

}  // namespace weft::graph
