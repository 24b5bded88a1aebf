#pragma once

#include "graph/node.hpp"

namespace weft::graph {

/// Gives a variable the memory of its next value, which from then on is that of both: nothing is
/// copied. False where that cannot be, because others know the variable's memory, or the value has
/// none of its own.
bool adopt(Node& variable, const Value& value);

/// Before memory of a node is written in place: makes it memory that no other tensor has.
void unshare(Node& node);

/// The same for memory that becomes known outside of nodes, such as to a recording: it stays as
/// well.
void make_private(Node& node);

}  // namespace weft::graph
