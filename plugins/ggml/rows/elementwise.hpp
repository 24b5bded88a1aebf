#pragma once

#include <string_view>

#include "node.hpp"
#include "ops/map/functions.hpp"

namespace weft::plugin {

/// A function of ops/map and its parameters.
struct MapFunction {
  std::string_view name;
  ops::map::Scalars scalars{};
};

/// The function of a UNARY node.
Result<MapFunction> unary_function(const Node& node);
/// The gated unit of a GLU node.
Result<MapFunction> gated_function(const Node& node);

}  // namespace weft::plugin
