#pragma once

#include <span>

#include "graph/node.hpp"

namespace weft::graph {

/// Computes values (and whatever else was computed on the way and has a handle); throws what goes
/// wrong.
void evaluate(std::span<const Value> values);

/// Before the values of variables of one device are replaced: computes the tensors that the program
/// has handles of and that were written with the present ones. What is alive only because gradients
/// of computed tensors might need it is let go; those tensors have no history from then on.
void finish_readers(std::span<const std::shared_ptr<Node>> variables);

}  // namespace weft::graph
