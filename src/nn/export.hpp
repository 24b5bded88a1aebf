#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf.hpp"
#include "formats/tokenizer.hpp"
#include "nn/llama.hpp"

namespace weft::nn {

/// How matrices are stored: "f32", "f16" or "q8_0" (matrices whose rows are not whole blocks: f16).
/// Vectors are f32.
bool is_export_type(std::string_view type);

/// Writes a model as a GGUF file of the architecture "llama", which llama.cpp runs as it is.
/// `notes` are further texts of its metadata, for example {"general.description", …}.
void export_gguf(const std::filesystem::path& path, const LlamaConfig& config,
                 const ModelValues& values, const Tokenizer& tokenizer, std::string_view type,
                 const std::string& name,
                 const std::vector<std::pair<std::string, std::string>>& notes = {});

/// The bytes of values in blocks of 32: an f16 scale and 32 signed bytes.
std::vector<std::byte> quantize_q8_0(std::span<const float> values);

}  // namespace weft::nn
