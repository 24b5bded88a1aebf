#pragma once

#include <filesystem>

#include "onnx/array.hpp"

namespace weft::cli {

/// Reads a file of numpy's format (.npy). Every number in it is checked; what is wrong is a
/// CommandError.
onnx::Array read_npy(const std::filesystem::path& path);
/// Writes one; bf16, which numpy does not have, as f32.
void write_npy(const std::filesystem::path& path, const onnx::Array& array);

}  // namespace weft::cli
