#pragma once

#include <filesystem>

#include "onnx/array.hpp"
#include "weft/onnx.hpp"

namespace weft::cli {

/// Whether read_media reads files with this ending.
bool is_media(const std::filesystem::path& path);

/// A sound (.wav: 16-bit or float samples, channels averaged, between -1 and 1) or a picture (.ppm,
/// .pgm of 8 bits; .png and .jpg where python3-pil is installed) as an input of a model takes it:
/// samples [n] with ones in front, pictures with their channels where the input has them, as bytes
/// or between 0 and 1. What is wrong is a CommandError.
onnx::Array read_media(const std::filesystem::path& path, const onnx::Port& port);

}  // namespace weft::cli
