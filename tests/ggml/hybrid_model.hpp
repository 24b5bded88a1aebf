#pragma once

#include <ggml.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace weft::test {

/// A model whose layers are of several kinds: attention, state spaces, linear attention, short
/// convolutions, experts.
struct HybridSpec {
  std::string architecture;  ///< One of hybrid_architectures().
  ggml_type type = GGML_TYPE_F32;
  bool decoded = false;  ///< The matrices are f32, with the values that they have in `type`.
};

const std::vector<std::string>& hybrid_architectures();

/// Writes such a model with random weights as a GGUF file.
Status write_hybrid_model(const std::filesystem::path& path, const HybridSpec& spec);

}  // namespace weft::test
