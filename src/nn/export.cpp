#include "nn/export.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/format.hpp"
#include "base/half.hpp"
#include "base/math.hpp"
#include "formats/ggml_type.hpp"
#include "nn/result.hpp"

namespace weft::nn {
namespace {

constexpr std::size_t q8_0_block = 32;

std::vector<std::byte> bytes_of(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> halves_of(std::span<const float> values) {
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), f16_bits);
  const auto bytes = std::as_bytes(std::span(halves));
  return {bytes.begin(), bytes.end()};
}

/// Rows of q and k in the order of files, where the two elements that rotate together are
/// neighbours.
std::vector<float> interleave_halves(std::span<const float> rows, std::uint64_t head_width,
                                     std::uint64_t columns) {
  std::vector<float> out(rows.size());
  const std::uint64_t half = head_width / 2;
  for (std::uint64_t row = 0; row < rows.size() / columns; ++row) {
    const std::uint64_t within = row % head_width;
    const std::uint64_t source = row - within + within % 2 * half + within / 2;
    std::ranges::copy(rows.subspan(source * columns, columns),
                      out.begin() + static_cast<std::ptrdiff_t>(row * columns));
  }
  return out;
}

/// The tensors of a file and the bytes they point to.
struct Contents {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<gguf::TensorView> tensors;

  void add(const ParameterInfo& info, std::string_view type, std::span<const float> values) {
    const bool blocks = info.shape.back() % q8_0_block == 0;
    if (type == "q8_0" && !blocks) type = "f16";
    bytes.push_back(type == "q8_0"  ? quantize_q8_0(values)
                    : type == "f16" ? halves_of(values)
                                    : bytes_of(values));
    tensors.push_back({info.file, info.shape, gguf::find_type(type)->id, bytes.back()});
  }
};

gguf::Metadata describe(const LlamaConfig& config, std::string_view type, const std::string& name) {
  const std::uint32_t file_type = type == "f32" ? 0 : type == "f16" ? 1 : 7;
  return {{"general.architecture", std::string("llama")},
          {"general.name", name},
          {"general.file_type", file_type},
          {"llama.vocab_size", narrow(config.vocabulary)},
          {"llama.context_length", narrow(config.context)},
          {"llama.embedding_length", narrow(config.width)},
          {"llama.block_count", narrow(config.layers)},
          {"llama.feed_forward_length", narrow(config.hidden)},
          {"llama.attention.head_count", narrow(config.heads)},
          {"llama.attention.head_count_kv", narrow(config.kv_heads)},
          {"llama.attention.layer_norm_rms_epsilon", config.norm_epsilon},
          {"llama.rope.dimension_count", narrow(config.head_width())},
          {"llama.rope.freq_base", config.rope_base}};
}

}  // namespace

bool is_export_type(std::string_view type) {
  return type == "f32" || type == "f16" || type == "q8_0";
}

std::vector<std::byte> quantize_q8_0(std::span<const float> values) {
  std::vector<std::byte> out;
  out.reserve(values.size() / q8_0_block * (q8_0_block + 2));
  for (std::size_t first = 0; first + q8_0_block <= values.size(); first += q8_0_block) {
    const auto block = values.subspan(first, q8_0_block);
    float largest = 0;
    for (const float value : block) largest = std::max(largest, std::abs(value));
    const float scale = largest / 127;
    const std::uint16_t bits = f16_bits(scale);
    out.push_back(static_cast<std::byte>(bits));
    out.push_back(static_cast<std::byte>(bits >> 8U));
    for (const float value : block) {
      const float level = scale > 0 ? std::round(value / scale) : 0;
      out.push_back(static_cast<std::byte>(static_cast<std::int8_t>(level)));
    }
  }
  return out;
}

void export_gguf(const std::filesystem::path& path, const LlamaConfig& config,
                 const ModelValues& values, const Tokenizer& tokenizer, std::string_view type,
                 const std::string& name,
                 const std::vector<std::pair<std::string, std::string>>& notes) {
  if (!is_export_type(type)) {
    throw Error(ErrorCode::invalid_argument,
                formatted("Models are exported as f32, f16 or q8_0, not as '{}'.", type));
  }
  if (tokenizer.size() != config.vocabulary) {
    throw Error(ErrorCode::invalid_argument, formatted("The model has {} tokens, its tokenizer {}.",
                                                       config.vocabulary, tokenizer.size()));
  }
  gguf::Metadata metadata = describe(config, type, name);
  for (const auto& [key, text] : notes) metadata.emplace_back(key, text);
  tokenizer.add_to(metadata);

  Contents contents;
  for (const ParameterInfo& info : parameters_of(config)) {
    const std::vector<float>& all = values.at(info.file);
    const bool rotates =
        info.file.ends_with("attn_q.weight") || info.file.ends_with("attn_k.weight");
    contents.add(info, info.is_matrix() ? type : "f32",
                 rotates ? interleave_halves(all, config.head_width(), config.width) : all);
  }
  value_or_throw(gguf::write(path, metadata, contents.tensors));
}

}  // namespace weft::nn
