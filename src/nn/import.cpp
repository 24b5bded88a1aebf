#include "nn/import.hpp"

#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "base/half.hpp"
#include "formats/ggml_type.hpp"
#include "nn/result.hpp"

namespace weft::nn {
namespace {

constexpr std::size_t q8_0_block = 32;

template <class T>
T read(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::vector<float> floats_of(const gguf::TensorView& tensor, std::uint64_t count) {
  std::vector<float> out(count);
  const auto is = [&](std::string_view type) { return tensor.type == gguf::find_type(type)->id; };
  if (is("f32")) {
    std::memcpy(out.data(), tensor.bytes.data(), count * sizeof(float));
  } else if (is("f16")) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = f32_from_f16(read<std::uint16_t>(tensor.bytes, 2 * i));
    }
  } else if (is("q8_0")) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t block = i / q8_0_block * (q8_0_block + 2);
      const float scale = f32_from_f16(read<std::uint16_t>(tensor.bytes, block));
      const auto level = read<std::int8_t>(tensor.bytes, block + 2 + i % q8_0_block);
      out[i] = scale * static_cast<float>(level);
    }
  } else {
    throw Error(ErrorCode::unsupported,
                formatted("The tensor {} has type number {}; models with f32, f16 and q8_0 tensors "
                          "can be trained further.",
                          tensor.name, tensor.type));
  }
  return out;
}

/// Rows of q and k as they are trained: the elements that rotate together are half a head apart.
std::vector<float> separate_halves(std::span<const float> rows, std::uint64_t head_width,
                                   std::uint64_t columns) {
  std::vector<float> out(rows.size());
  const std::uint64_t half = head_width / 2;
  for (std::uint64_t row = 0; row < rows.size() / columns; ++row) {
    const std::uint64_t within = row % head_width;
    const std::uint64_t source = row - within + 2 * (within % half) + within / half;
    std::ranges::copy(rows.subspan(source * columns, columns),
                      out.begin() + static_cast<std::ptrdiff_t>(row * columns));
  }
  return out;
}

LlamaConfig config_of(const gguf::File& file) {
  const auto number = [&](const std::string& key) {
    return value_or_throw(file.get<std::uint32_t>("llama." + key));
  };
  const auto real = [&](const std::string& key) {
    return value_or_throw(file.get<float>("llama." + key));
  };
  const auto architecture = value_or_throw(file.get<std::string>("general.architecture"));
  if (architecture != "llama") {
    throw Error(ErrorCode::unsupported,
                formatted("The model is a {}; only a llama can be trained further.", architecture));
  }
  LlamaConfig config;
  const gguf::TensorView* table = file.tensor("token_embd.weight");
  if (table == nullptr || table->shape.empty()) {
    throw Error(ErrorCode::not_found, "The model has no tensor token_embd.weight.");
  }
  config.vocabulary = table->shape.front();
  config.layers = number("block_count");
  config.width = number("embedding_length");
  config.heads = number("attention.head_count");
  config.kv_heads = number("attention.head_count_kv");
  config.hidden = number("feed_forward_length");
  config.context = number("context_length");
  config.tied = file.tensor("output.weight") == nullptr;
  config.norm_epsilon = real("attention.layer_norm_rms_epsilon");
  config.rope_base = real("rope.freq_base");
  value_or_throw(check(config));
  return config;
}

}  // namespace

Imported import_gguf(const std::filesystem::path& path) {
  const gguf::File file = value_or_throw(gguf::File::open(path));
  const LlamaConfig config = config_of(file);
  ModelValues all;
  for (const ParameterInfo& info : parameters_of(config)) {
    const gguf::TensorView* tensor = file.tensor(info.file);
    if (tensor == nullptr) {
      throw Error(ErrorCode::not_found, formatted("The model has no tensor {}.", info.file));
    }
    if (!std::ranges::equal(tensor->shape, info.shape)) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("The tensor {} does not have the {} elements of its shape in a model "
                            "of this size.",
                            info.file, info.count()));
    }
    std::vector<float> values = floats_of(*tensor, info.count());
    if (info.file.ends_with("attn_q.weight") || info.file.ends_with("attn_k.weight")) {
      values = separate_halves(values, config.head_width(), config.width);
    }
    all.emplace(info.file, std::move(values));
  }
  const auto name = file.get<std::string>("general.name");
  return {config, std::move(all), value_or_throw(Tokenizer::from_metadata(file.metadata())),
          name ? *name : "model"};
}

}  // namespace weft::nn
