#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace weft::test {

/// A small language model with random weights.
struct ModelSpec {
  std::string architecture;  ///< "llama", "qwen3", "gemma3", "phi3", "qwen3moe", "lfm2", "mamba" or
                             ///< "rwkv7".
  std::string type = "f32";  ///< The type of the matrices: "f32", "f16", "q8_0", "q4_k", …
  std::uint32_t layers = 2;
  std::uint64_t seed = 1;
  bool decoded =
      false;  ///< The matrices are stored as f32, with the values that they have in `type`.
  std::string chat_template;  ///< In Jinja; empty: none.
};

/// Writes the model as a GGUF file. The tokens are bytes, so any text can be tokenised.
Status write_random_model(const std::filesystem::path& path, const ModelSpec& spec);

}  // namespace weft::test
