#pragma once

#include <map>
#include <string>

#include "onnx/model.hpp"

namespace weft::cli {

/// Times a model for about so many seconds, and prints how long a run takes, and how long its
/// operations take one by one.
void bench_onnx(const Device& device, const onnx::Model& model,
                const std::map<std::string, onnx::Value>& inputs, double seconds);

}  // namespace weft::cli
