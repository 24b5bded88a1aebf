#pragma once

#include <filesystem>
#include <string>

#include "formats/tokenizer.hpp"
#include "nn/export.hpp"
#include "nn/llama.hpp"

namespace weft::nn {

/// A model as export_gguf() writes it, back in the layout that it is trained in.
struct Imported {
  LlamaConfig config;
  ModelValues values;
  Tokenizer tokenizer;
  std::string name;
};

/// Reads a GGUF file of the architecture "llama" whose tensors are f32, f16 or q8_0 and whose
/// tokenizer is Weft's: what `weft train` writes. Throws weft::Error, with what is different, for
/// all others.
Imported import_gguf(const std::filesystem::path& path);

}  // namespace weft::nn
