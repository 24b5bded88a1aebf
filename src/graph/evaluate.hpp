#pragma once

#include <span>

#include "graph/node.hpp"

namespace weft::graph {

/// Computes values (and whatever else was computed on the way and has a handle); throws what goes wrong.
void evaluate(std::span<const Value> values);

/// Computes everything that was written with the present values of a variable, which are about to be replaced.
void finish_readers(Node& variable);

}  // namespace weft::graph
