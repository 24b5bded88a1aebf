#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "onnx/model.hpp"

namespace weft::cli {

/// What `weft onnx` is told about a run.
struct OnnxRun {
  std::vector<std::string> inputs;  ///< "name=file", or "name=number".
  std::vector<std::string> shapes;  ///< "name=2,3".
  std::vector<std::string> dims;    ///< "symbol=number".
  std::uint64_t seed = 1;
};

/// Values for all inputs of a model: from files, and random ones for the rest.
std::map<std::string, onnx::Value> onnx_inputs(const onnx::Model& model, const OnnxRun& run);

/// Runs a model on tensors.
std::map<std::string, onnx::Value> run_onnx(const Device& device, const onnx::Model& model,
                                            const std::map<std::string, onnx::Value>& inputs);

/// "min -1.2, mean 0.1, max 3.4".
std::string range_of(const onnx::Array& array);

/// Compares results with those of ONNX Runtime on the CPU, through python3, and prints the largest
/// errors. Whether they are small.
bool compare_onnx(const std::filesystem::path& model,
                  const std::map<std::string, onnx::Value>& inputs,
                  const std::map<std::string, onnx::Value>& results, double tolerance);

}  // namespace weft::cli
