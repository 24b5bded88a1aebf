#pragma once

#include <span>

#include "describe/kinds.hpp"  // IWYU pragma: export
#include "graph/rule.hpp"

namespace weft::graph::kinds {

// Every kind of operation is declared in describe/kinds.hpp, which is written from
// description/*.toml; src/graph/kinds/ has one file per family.

/// All of them, for tests and documents.
std::span<const Rule* const> all();

}  // namespace weft::graph::kinds
