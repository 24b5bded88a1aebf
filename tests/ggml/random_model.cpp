#include "random_model.hpp"

#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"

namespace weft::test {
namespace {

// Sizes that every type's blocks divide.
constexpr std::uint64_t width = 256;
constexpr std::uint64_t hidden = 512;
constexpr std::uint64_t heads = 4;
constexpr std::uint64_t kv_heads = 2;
constexpr std::uint64_t head = 64;
constexpr std::uint64_t vocabulary = 320;
constexpr std::uint64_t experts = 4;
constexpr std::uint64_t state = 16;
constexpr std::uint64_t rank = 32;

using Extents = std::vector<std::uint64_t>;  // as ggml lists them: innermost first

class Builder {
 public:
  explicit Builder(const ModelSpec& spec) : spec_(spec), random_(spec.seed) {
    set("general.architecture", spec.architecture);
    set("general.name", formatted("random {} {}", spec.architecture, spec.type));
    set("general.quantization_version", std::uint32_t{2});
    number("block_count", spec.layers);
    number("context_length", 512);
    number("embedding_length", width);
    number("feed_forward_length", hidden);
    number("vocab_size", vocabulary);
    add_vocabulary();
    if (!spec.chat_template.empty()) set("tokenizer.chat_template", spec.chat_template);
  }

  void set(const std::string& key, gguf::Value value) {
    metadata_.emplace_back(key, std::move(value));
  }
  void number(const std::string& key, std::uint64_t value) {
    set(spec_.architecture + "." + key, static_cast<std::uint32_t>(value));
  }
  void real(const std::string& key, float value) { set(spec_.architecture + "." + key, value); }

  /// A matrix of the model's type; values keep the size of what they are multiplied with.
  void matrix(const std::string& name, Extents shape) {
    // As in trained models, what is added to the residual stream is smaller than the stream, which
    // starts with values of size one.
    const bool adds = name.contains("output.weight")
                          ? name != "output.weight"
                          : name.contains("_down") || name.contains("ssm_out") ||
                                name.contains("channel_mix_value");
    const float deviation = (adds ? 0.4F : 1.0F) / std::sqrt(static_cast<float>(shape[0]));
    add(name, std::move(shape), spec_.type, [this, deviation] { return normal() * deviation; });
  }
  /// The vectors of the tokens. Gemma multiplies them by the root of the width.
  void embeddings() {
    const float deviation =
        spec_.architecture == "gemma3" ? 1 / std::sqrt(static_cast<float>(width)) : 1;
    add("token_embd.weight", {width, vocabulary}, spec_.type,
        [this, deviation] { return normal() * deviation; });
  }
  /// f32 values around `centre`.
  void vector(const std::string& name, Extents shape, float centre, float deviation = 0.1F) {
    add(name, std::move(shape), "f32", [=, this] { return centre + normal() * deviation; });
  }
  void values(const std::string& name, Extents shape, const std::function<float()>& next) {
    add(name, std::move(shape), "f32", next);
  }

  Status write(const std::filesystem::path& path) const {
    std::vector<gguf::TensorView> views;
    for (const Tensor& tensor : tensors_) {
      gguf::TensorView view{tensor.name, tensor.shape, tensor.type, tensor.bytes};
      std::ranges::reverse(view.shape);
      views.push_back(std::move(view));
    }
    return gguf::write(path, metadata_, views);
  }

 private:
  struct Tensor {
    std::string name;
    Extents shape;
    std::uint32_t type;
    std::vector<std::byte> bytes;
  };

  float normal() { return normal_(random_); }

  void add(const std::string& name, Extents shape, std::string_view type_name,
           const std::function<float()>& next) {
    const gguf::TypeInfo* info = gguf::find_type(type_name);
    const std::uint64_t count =
        std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    std::vector<float> numbers(count);
    std::ranges::generate(numbers, next);
    Tensor tensor{name, std::move(shape), info->id, {}};
    tensor.bytes.resize(count / info->block * info->bytes);
    const auto row = static_cast<std::int64_t>(tensor.shape[0]);
    ggml_quantize_chunk(static_cast<ggml_type>(info->id), numbers.data(), tensor.bytes.data(), 0,
                        static_cast<std::int64_t>(count) / row, row, nullptr);
    if (spec_.decoded && tensor.type != GGML_TYPE_F32) {
      ggml_get_type_traits(static_cast<ggml_type>(info->id))
          ->to_float(tensor.bytes.data(), numbers.data(), static_cast<std::int64_t>(count));
      const auto bytes = std::as_bytes(std::span(numbers));
      tensor.bytes.assign(bytes.begin(), bytes.end());
      tensor.type = GGML_TYPE_F32;
    }
    tensors_.push_back(std::move(tensor));
  }

  void add_vocabulary() {
    std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
    std::vector<std::int32_t> kinds{2, 3, 3};
    for (int byte = 0; byte < 256; ++byte) {
      tokens.push_back(formatted("<0x{:02X}>", byte));
      kinds.push_back(6);
    }
    tokens.emplace_back("<|endoftext|>");  // llama.cpp looks for it in models of the phi family.
    kinds.push_back(3);
    while (tokens.size() < vocabulary) {
      tokens.push_back(formatted("word{}", tokens.size()));
      kinds.push_back(1);
    }
    std::vector<float> scores(tokens.size());
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
    set("tokenizer.ggml.model", std::string("llama"));
    set("tokenizer.ggml.tokens", gguf::Array(std::move(tokens)));
    set("tokenizer.ggml.scores", gguf::Array(std::move(scores)));
    set("tokenizer.ggml.token_type", gguf::Array(std::move(kinds)));
    set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    set("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  }

  const ModelSpec& spec_;
  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  gguf::Metadata metadata_;
  std::vector<Tensor> tensors_;
};

void add_attention(Builder& model, const std::string& layer, bool head_norms, bool fused) {
  model.vector(layer + "attn_norm.weight", {width}, 1);
  if (fused) {
    model.matrix(layer + "attn_qkv.weight", {width, (heads + 2 * kv_heads) * head});
  } else {
    model.matrix(layer + "attn_q.weight", {width, heads * head});
    model.matrix(layer + "attn_k.weight", {width, kv_heads * head});
    model.matrix(layer + "attn_v.weight", {width, kv_heads * head});
  }
  model.matrix(layer + "attn_output.weight", {heads * head, width});
  if (head_norms) {
    model.vector(layer + "attn_q_norm.weight", {head}, 1);
    model.vector(layer + "attn_k_norm.weight", {head}, 1);
  }
  model.vector(layer + "ffn_norm.weight", {width}, 1);
}

void add_experts(Builder& model, const std::string& layer) {
  model.vector(layer + "ffn_gate_inp.weight", {width, experts}, 0, 0.3F);
  model.matrix(layer + "ffn_gate_exps.weight", {width, width, experts});
  model.matrix(layer + "ffn_up_exps.weight", {width, width, experts});
  model.matrix(layer + "ffn_down_exps.weight", {width, width, experts});
}

void add_transformer(Builder& model, const ModelSpec& spec) {
  const std::string& kind = spec.architecture;
  model.number("attention.head_count", heads);
  model.number("attention.head_count_kv", kv_heads);
  model.number("attention.key_length", head);
  model.number("attention.value_length", head);
  model.number("rope.dimension_count", head);
  model.real("rope.freq_base", 10000);
  if (kind == "gemma3") model.number("attention.sliding_window", 24);
  if (kind == "phi3") model.number("rope.scaling.original_context_length", 512);
  if (kind == "qwen3moe") {
    model.number("expert_count", experts);
    model.number("expert_used_count", 2);
    model.number("expert_feed_forward_length", width);
  }
  if (kind != "gemma3") model.matrix("output.weight", {width, vocabulary});
  for (std::uint32_t i = 0; i < spec.layers; ++i) {
    const std::string layer = formatted("blk.{}.", i);
    add_attention(model, layer, kind.starts_with("qwen3") || kind == "gemma3", kind == "phi3");
    if (kind == "gemma3") {
      model.vector(layer + "post_attention_norm.weight", {width}, 1);
      model.vector(layer + "post_ffw_norm.weight", {width}, 1);
    }
    if (kind == "qwen3moe") {
      add_experts(model, layer);
      continue;
    }
    if (kind != "phi3") model.matrix(layer + "ffn_gate.weight", {width, hidden});
    model.matrix(layer + "ffn_up.weight", {width, kind == "phi3" ? 2 * hidden : hidden});
    model.matrix(layer + "ffn_down.weight", {hidden, width});
  }
}

void add_mamba(Builder& model, const ModelSpec& spec) {
  constexpr std::uint64_t inner = 2 * width;
  constexpr std::uint64_t kernel = 4;
  model.number("ssm.conv_kernel", kernel);
  model.number("ssm.inner_size", inner);
  model.number("ssm.state_size", state);
  model.number("ssm.time_step_rank", rank);
  model.number("attention.head_count", 0);
  model.matrix("output.weight", {width, vocabulary});
  for (std::uint32_t i = 0; i < spec.layers; ++i) {
    const std::string layer = formatted("blk.{}.", i);
    model.vector(layer + "attn_norm.weight", {width}, 1);
    model.matrix(layer + "ssm_in.weight", {width, 2 * inner});
    model.vector(layer + "ssm_conv1d.weight", {kernel, inner}, 0, 0.5F);
    model.vector(layer + "ssm_conv1d.bias", {inner}, 0);
    model.matrix(layer + "ssm_x.weight", {inner, rank + (2 * state)});
    model.vector(layer + "ssm_dt.weight", {rank, inner}, 0, 0.2F);
    model.vector(layer + "ssm_dt.bias", {inner}, -2);
    float decay = 0;  // -1, -2, … for each state
    model.values(layer + "ssm_a", {state, inner}, [&decay] {
      decay = decay <= -static_cast<float>(state) ? -1 : decay - 1;
      return decay;
    });
    model.vector(layer + "ssm_d", {inner}, 1);
    model.matrix(layer + "ssm_out.weight", {inner, width});
  }
}

void add_rwkv(Builder& model, const ModelSpec& spec) {
  model.real("attention.layer_norm_epsilon", 1e-5F);
  model.number("attention.head_count", 0);
  model.number("wkv.head_size", head);
  for (const char* key :
       {"decay_lora_rank", "iclr_lora_rank", "value_residual_mix_lora_rank", "gate_lora_rank"}) {
    model.number(std::string("attention.") + key, rank);
  }
  model.matrix("output.weight", {width, vocabulary});
  model.vector("token_embd_norm.weight", {width}, 1);
  model.vector("token_embd_norm.bias", {width}, 0);
  model.vector("output_norm.bias", {width}, 0);
  for (std::uint32_t i = 0; i < spec.layers; ++i) {
    const std::string layer = formatted("blk.{}.", i);
    for (const char* name : {"attn_norm", "attn_norm_2", "time_mix_ln"}) {
      model.vector(layer + name + ".weight", {width}, 1);
      model.vector(layer + name + ".bias", {width}, 0);
    }
    for (const char* name : {"w", "a", "v"}) {
      model.vector(layer + "time_mix_" + name + "0.weight", {width}, -1, 0.3F);
    }
    for (const char* name : {"w", "a", "v", "g"}) {
      model.vector(layer + "time_mix_" + name + "1.weight", {width, rank}, 0, 0.06F);
      model.vector(layer + "time_mix_" + name + "2.weight", {rank, width}, 0, 0.2F);
    }
    model.vector(layer + "time_mix_lerp_fused.weight", {width, 1, 1, 6}, 0.5F);
    for (const char* name : {"k_k", "k_a", "r_k"}) {
      model.vector(layer + "time_mix_" + name + ".weight", {width}, 0.5F);
    }
    for (const char* name : {"key", "value", "receptance", "output"}) {
      model.matrix(layer + "time_mix_" + name + ".weight", {width, width});
    }
    model.vector(layer + "channel_mix_lerp_k.weight", {width, 1, 1}, 0.5F);
    model.matrix(layer + "channel_mix_key.weight", {width, hidden});
    model.matrix(layer + "channel_mix_value.weight", {hidden, width});
  }
}

/// Short convolutions and attention in turn.
void add_lfm2(Builder& model, const ModelSpec& spec) {
  constexpr std::uint64_t kernel = 3;
  std::vector<std::int32_t> shared;  // heads of keys; a layer without them is a convolution
  for (std::uint32_t i = 0; i < spec.layers; ++i)
    shared.push_back(i % 2 == 0 ? 0 : static_cast<std::int32_t>(kv_heads));
  model.set("lfm2.attention.head_count_kv", gguf::Array(shared));
  model.number("attention.head_count", heads);
  model.number("rope.dimension_count", head);
  model.real("rope.freq_base", 10000);
  model.number("shortconv.l_cache", kernel);
  model.vector("token_embd_norm.weight", {width}, 1);
  for (std::uint32_t i = 0; i < spec.layers; ++i) {
    const std::string layer = formatted("blk.{}.", i);
    if (shared[i] != 0) {
      add_attention(model, layer, true, false);
    } else {
      model.vector(layer + "attn_norm.weight", {width}, 1);
      model.vector(layer + "ffn_norm.weight", {width}, 1);
      model.vector(layer + "shortconv.conv.weight", {kernel, width}, 0, 0.5F);
      model.matrix(layer + "shortconv.in_proj.weight", {width, 3 * width});
      model.matrix(layer + "shortconv.out_proj.weight", {width, width});
    }
    model.matrix(layer + "ffn_gate.weight", {width, hidden});
    model.matrix(layer + "ffn_up.weight", {width, hidden});
    model.matrix(layer + "ffn_down.weight", {hidden, width});
  }
}

/// An encoder, and a decoder that looks at what it made.
void add_t5(Builder& model, const ModelSpec& spec) {
  constexpr std::uint64_t buckets = 8;
  model.number("attention.head_count", heads);
  model.number("attention.relative_buckets_count", buckets);
  model.number("decoder_start_token_id", 0);
  const auto attend = [&](const std::string& part) {
    model.vector(part + "_norm.weight", {width}, 1);
    for (const char* name : {"_q", "_k", "_v", "_o"}) {
      model.matrix(part + name + ".weight", {width, width});
    }
  };
  for (const std::string side : {"enc.", "dec."}) {
    model.vector(side + "output_norm.weight", {width}, 1);
    for (std::uint32_t i = 0; i < spec.layers; ++i) {
      const std::string layer = formatted("{}blk.{}.", side, i);
      attend(layer + "attn");
      if (i == 0) model.vector(layer + "attn_rel_b.weight", {heads, buckets}, 0);
      if (side == "dec.") attend(layer + "cross_attn");
      model.vector(layer + "ffn_norm.weight", {width}, 1);
      model.matrix(layer + "ffn_up.weight", {width, hidden});
      model.matrix(layer + "ffn_down.weight", {hidden, width});
    }
  }
}

}  // namespace

Status write_random_model(const std::filesystem::path& path, const ModelSpec& spec) {
  Builder model(spec);
  model.real("attention.layer_norm_rms_epsilon", 1e-5F);
  model.embeddings();
  if (spec.architecture != "lfm2" && spec.architecture != "t5") {
    model.vector("output_norm.weight", {width}, 1);
  }
  if (spec.architecture == "lfm2") {
    add_lfm2(model, spec);
  } else if (spec.architecture == "mamba") {
    add_mamba(model, spec);
  } else if (spec.architecture == "rwkv7") {
    add_rwkv(model, spec);
  } else if (spec.architecture == "t5") {
    add_t5(model, spec);
  } else {
    add_transformer(model, spec);
  }
  return model.write(path);
}

}  // namespace weft::test
