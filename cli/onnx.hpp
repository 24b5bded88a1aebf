#pragma once

#include <CLI/CLI.hpp>

namespace weft::cli {

/// `weft onnx`: what is in an ONNX model, and running it.
void add_onnx(CLI::App& app);

}  // namespace weft::cli
