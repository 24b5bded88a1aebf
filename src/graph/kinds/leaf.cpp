#include "graph/kinds.hpp"

namespace weft::graph::kinds {

const Rule value{.name = "value"};
const Rule variable{.name = "variable"};
const Rule input{.name = "input"};

}  // namespace weft::graph::kinds
