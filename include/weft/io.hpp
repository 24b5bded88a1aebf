#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "weft/device.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// Tensors by name, and free texts beside them: what a file of weights holds.
struct NamedTensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> texts;
};

/// Writes tensors to a file whose name ends with ".safetensors" or ".gguf". The file appears when
/// it is whole; one that was there before stays until then. GGUF has no unsigned types: u8 and u32
/// need safetensors.
void save(const std::filesystem::path& path, const NamedTensors& contents);

/// Reads the tensors of a file that ends with ".safetensors" or ".gguf" onto a device. The file is
/// mapped, and every number in it is checked before it is used. Of a GGUF file's values only the
/// texts are kept; its quantized tensors stay as they are.
[[nodiscard]] NamedTensors load(const Device& device, const std::filesystem::path& path);

}  // namespace weft
