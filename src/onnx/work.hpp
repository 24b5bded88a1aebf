#pragma once

#include "onnx/call.hpp"

namespace weft::onnx {

/// What a node took, and what it had to do at least.
struct NodeTime {
  double seconds = 0;
  double bytes = 0;  ///< Of its inputs and results, each read or written once.
  double operations =
      0;  ///< Additions and multiplications of products; elsewhere one for each result.
};

/// Bytes and operations of a node that has run in a scope, from the shapes of its values.
NodeTime work_of(const Node& node, const Scope& scope);

}  // namespace weft::onnx
