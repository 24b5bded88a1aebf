#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "onnx/call.hpp"
#include "onnx/work.hpp"
#include "weft/onnx.hpp"

namespace weft::onnx {

/// What is inside of a model, for tools and tests.
struct ModelAccess {
  static void set(Model& model, std::shared_ptr<ModelData> data);
  static const ModelProto& proto(const Model& model);
  /// A model of parts that somebody else read; `keep` owns the bytes of its tensors.
  static Model made(const Device& device, ModelProto proto, std::shared_ptr<const void> keep);
  /// As Model::run(), with values of any kind: what is known on the host is not brought to the
  /// device to be read again.
  static std::map<std::string, Value> replay(const Model& model,
                                             const std::map<std::string, Value>& inputs);
  /// Runs the graph node by node, waits for each, and tells what it took.
  static void run_timed(const Model& model, const std::map<std::string, Value>& inputs,
                        const std::function<void(const Node& node, const NodeTime& took)>& tell);
  /// Runs the graph node by node, with values of any kind.
  static std::map<std::string, Value> run(const Model& model,
                                          const std::map<std::string, Value>& inputs);
};

}  // namespace weft::onnx
