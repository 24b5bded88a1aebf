#pragma once

#include <map>
#include <string>

#include "onnx/call.hpp"
#include "weft/onnx.hpp"

namespace weft::onnx {

/// What is inside of a model, for tools and tests.
struct ModelAccess {
  static void set(Model& model, std::shared_ptr<ModelData> data);
  static const ModelProto& proto(const Model& model);
  /// Runs the graph node by node, with values of any kind.
  static std::map<std::string, Value> run(const Model& model,
                                          const std::map<std::string, Value>& inputs);
};

}  // namespace weft::onnx
