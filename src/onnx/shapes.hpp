#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/call.hpp"
#include "weft/onnx.hpp"

namespace weft::onnx {

/// The types and shapes of a graph's values as functions of the names in the shapes of its inputs.
/// The translator is the only place that knows what operations do with shapes: the graph is traced
/// at several sizes without computing anything, and formulas are found that give all the shapes
/// that were seen. Values that cannot be traced are left out.
std::map<std::string, Port> inferred_shapes(const Context& like, const GraphProto& graph,
                                            const std::vector<Port>& inputs);

}  // namespace weft::onnx
