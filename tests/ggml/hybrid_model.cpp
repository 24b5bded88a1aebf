#include "hybrid_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "formats/gguf.hpp"

namespace weft::test {
namespace {

using U = std::uint64_t;
using Extents = std::vector<U>;  // as ggml lists them: innermost first
using Layers = std::vector<std::int32_t>;

// Sizes that every type's blocks divide.
constexpr U width = 256;
constexpr U hidden = 512;
constexpr U heads = 4;
constexpr U kv_heads = 2;
constexpr U head = 64;
constexpr U vocabulary = 320;
constexpr U experts = 4;
constexpr U layer_count = 4;

bool has(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [name](std::string_view part) { return name.contains(part); });
}

/// Whether files have a tensor of this name in blocks.
bool is_matrix(std::string_view name) {
  return name.ends_with(".weight") &&
         !has(name, {"norm", "conv1d", "shortconv.conv", "gate_inp", "ssm_dt."});
}

/// Values that keep the size of what goes through the model.
std::vector<float> values_of(std::string_view name, const Extents& shape) {
  std::mt19937_64 random(std::hash<std::string_view>{}(name));
  std::normal_distribution<float> normal;
  float centre = 0;
  float deviation = 0.1F;
  if (has(name, {"norm", "ssm_d"})) centre = 1;
  if (name.ends_with("ssm_dt.bias")) centre = -2;
  if (name.contains("conv1d") || name.contains("shortconv.conv")) deviation = 0.5F;
  if (name.starts_with("token_embd.")) {
    deviation = 1;
  } else if (is_matrix(name) || has(name, {"gate_inp", "ssm_dt.weight"})) {
    // What is added to the residual stream is smaller than the stream.
    const bool adds = has(name, {"attn_output.", "_down", "ssm_out.", "out_proj."});
    centre = 0;
    deviation = (adds ? 0.4F : 1.0F) / std::sqrt(static_cast<float>(shape[0]));
  }
  const U count = std::accumulate(shape.begin(), shape.end(), U{1}, std::multiplies<>());
  std::vector<float> values(count);
  for (float& value : values) value = centre + normal(random) * deviation;
  if (name.ends_with("ssm_a")) {  // decays
    for (float& value : values) value = -0.2F - std::abs(value) * 20;
  }
  return values;
}

class Model {
 public:
  explicit Model(const HybridSpec& spec) : spec_(spec) {
    set("general.architecture", spec.architecture);
    set("tokenizer.ggml.model", std::string("none"));
    number("vocab_size", vocabulary);
    number("block_count", layer_count);
    number("context_length", 512);
    number("embedding_length", width);
    number("attention.key_length", head);
    number("attention.value_length", head);
    number("rope.dimension_count", head);
    set(spec.architecture + ".rope.freq_base", 10000.0F);
    set(spec.architecture + ".attention.layer_norm_rms_epsilon", 1e-5F);
    set(spec.architecture + ".attention.layer_norm_epsilon", 1e-5F);
    add("token_embd.weight", {width, vocabulary});
    if (is("lfm2") || is("lfm2moe")) {
      add("token_embd_norm.weight", {width});
    } else {
      add("output_norm.weight", {width});
      add("output.weight", {width, vocabulary});
    }
  }

  bool is(std::string_view architecture) const { return spec_.architecture == architecture; }
  void set(const std::string& key, gguf::Value value) {
    metadata_.emplace_back(key, std::move(value));
  }
  void number(const std::string& key, U value) {
    set(spec_.architecture + "." + key, static_cast<std::uint32_t>(value));
  }
  void layers(const std::string& key, const Layers& values) {
    set(spec_.architecture + "." + key, gguf::Array(values));
  }
  void states(U inner, U state, U rank, U groups) {
    number("ssm.conv_kernel", 4);
    number("ssm.inner_size", inner);
    number("ssm.state_size", state);
    number("ssm.time_step_rank", rank);
    number("ssm.group_count", groups);
  }
  void add(const std::string& name, Extents shape) {
    std::vector<float> numbers = values_of(name, shape);
    const ggml_type type = is_matrix(name) ? spec_.type : GGML_TYPE_F32;
    const auto row = static_cast<std::int64_t>(shape[0]);
    const std::int64_t rows = static_cast<std::int64_t>(numbers.size()) / row;
    std::vector<std::byte> bytes(ggml_row_size(type, row) * static_cast<std::size_t>(rows));
    ggml_quantize_chunk(type, numbers.data(), bytes.data(), 0, rows, row, nullptr);
    if (spec_.decoded && type != GGML_TYPE_F32) {
      ggml_get_type_traits(type)->to_float(bytes.data(), numbers.data(), row * rows);
      const auto decoded = std::as_bytes(std::span(numbers));
      bytes.assign(decoded.begin(), decoded.end());
    }
    std::ranges::reverse(shape);
    const ggml_type stored = spec_.decoded ? GGML_TYPE_F32 : type;
    tensors_.push_back(
        {name, std::move(shape), static_cast<std::uint32_t>(stored), std::move(bytes)});
  }

  Status write(const std::filesystem::path& path) const {
    std::vector<gguf::TensorView> views;
    for (const Tensor& tensor : tensors_) {
      views.push_back({tensor.name, tensor.shape, tensor.type, tensor.bytes});
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
  const HybridSpec& spec_;
  gguf::Metadata metadata_;
  std::vector<Tensor> tensors_;
};

void add_attention(Model& model, const std::string& layer) {
  const bool gated = model.is("qwen3next") || model.is("qwen35");
  if (model.is("plamo2")) {
    model.add(layer + "attn_qkv.weight", {width, (heads + 2 * kv_heads) * head});
    model.add(layer + "attn_q_norm.weight", {head, heads});
    model.add(layer + "attn_k_norm.weight", {head, kv_heads});
  } else {
    model.add(layer + "attn_q.weight", {width, heads * head * (gated ? 2 : 1)});
    model.add(layer + "attn_k.weight", {width, kv_heads * head});
    model.add(layer + "attn_v.weight", {width, kv_heads * head});
  }
  if (gated || model.is("lfm2") || model.is("lfm2moe")) {
    model.add(layer + "attn_q_norm.weight", {head});
    model.add(layer + "attn_k_norm.weight", {head});
  }
  model.add(layer + "attn_output.weight", {heads * head, width});
}

/// Mamba's states with a decay for each element.
void add_first_mamba(Model& model, const std::string& layer) {
  constexpr U inner = 2 * width;
  constexpr U state = 16;
  constexpr U rank = 32;
  model.add(layer + "ssm_in.weight", {width, 2 * inner});
  model.add(layer + "ssm_conv1d.weight", {4, inner});
  model.add(layer + "ssm_conv1d.bias", {inner});
  model.add(layer + "ssm_x.weight", {inner, rank + (2 * state)});
  model.add(layer + "ssm_dt_norm.weight", {rank});
  model.add(layer + "ssm_dt.weight", {rank, inner});
  model.add(layer + "ssm_dt.bias", {inner});
  model.add(layer + "ssm_b_norm.weight", {state});
  model.add(layer + "ssm_c_norm.weight", {state});
  model.add(layer + "ssm_a", {state, inner});
  model.add(layer + "ssm_d", {inner});
  model.add(layer + "ssm_out.weight", {inner, width});
}

/// Its second form: a decay for each head.
void add_second_mamba(Model& model, const std::string& layer, U state, U groups) {
  constexpr U inner = 2 * width;
  constexpr U states = 8;
  const U mixed = inner + (2 * groups * state);
  model.add(layer + "ssm_in.weight", {width, inner + mixed + states});
  model.add(layer + "ssm_conv1d.weight", {4, mixed});
  model.add(layer + "ssm_conv1d.bias", {mixed});
  model.add(layer + "ssm_dt.bias", {states});
  model.add(layer + "ssm_a", {1, states});
  model.add(layer + "ssm_d", {1, states});
  model.add(layer + "ssm_norm.weight", {inner / groups, groups});
  model.add(layer + "ssm_out.weight", {inner, width});
}

void add_plamo_mamba(Model& model, const std::string& layer) {
  constexpr U inner = 2 * width;
  constexpr U state = 64;
  constexpr U rank = 64;
  model.add(layer + "ssm_in.weight", {width, 2 * inner});
  model.add(layer + "ssm_conv1d.weight", {4, inner});
  model.add(layer + "ssm_x.weight", {inner, rank + (2 * state)});
  model.add(layer + "ssm_dt.weight", {rank, 8});
  model.add(layer + "ssm_dt.bias", {8});
  model.add(layer + "ssm_a", {8});
  model.add(layer + "ssm_d", {8});
  model.add(layer + "ssm_out.weight", {inner, width});
  model.add(layer + "ssm_dt_norm", {rank});
  model.add(layer + "ssm_b_norm", {state});
  model.add(layer + "ssm_c_norm", {state});
}

/// Linear attention with a gated delta rule: two heads of keys and four of values.
void add_delta(Model& model, const std::string& layer) {
  constexpr U mixed = (2 * 2 + 4) * head;
  model.add(layer + "attn_qkv.weight", {width, mixed});
  model.add(layer + "attn_gate.weight", {width, 4 * head});
  model.add(layer + "ssm_conv1d.weight", {4, mixed});
  model.add(layer + "ssm_dt.bias", {4});
  model.add(layer + "ssm_a", {4});
  if (model.is("qwen3next")) {
    model.add(layer + "ssm_ba.weight", {width, 8});
  } else {
    model.add(layer + "ssm_beta.weight", {width, 4});
    model.add(layer + "ssm_alpha.weight", {width, 4});
  }
  model.add(layer + "ssm_norm.weight", {head});
  model.add(layer + "ssm_out.weight", {4 * head, width});
}

void add_short_convolution(Model& model, const std::string& layer) {
  model.add(layer + "shortconv.conv.weight", {3, width});
  model.add(layer + "shortconv.in_proj.weight", {width, 3 * width});
  model.add(layer + "shortconv.out_proj.weight", {width, width});
}

void add_recurrent(Model& model, const std::string& layer) {
  if (model.is("jamba")) return add_first_mamba(model, layer);
  if (model.is("plamo2")) return add_plamo_mamba(model, layer);
  if (model.is("falcon-h1")) return add_second_mamba(model, layer, 32, 1);
  if (model.is("qwen3next") || model.is("qwen35")) return add_delta(model, layer);
  if (model.is("lfm2") || model.is("lfm2moe")) return add_short_convolution(model, layer);
  add_second_mamba(model, layer, 128, 2);  // granitehybrid, nemotron_h
}

void add_experts(Model& model, const std::string& layer, U inner) {
  model.add(layer + "ffn_gate_inp.weight", {width, experts});
  model.add(layer + "ffn_gate_exps.weight", {width, inner, experts});
  model.add(layer + "ffn_up_exps.weight", {width, inner, experts});
  model.add(layer + "ffn_down_exps.weight", {inner, width, experts});
  if (model.is("lfm2moe")) model.add(layer + "exp_probs_b.bias", {experts});
  if (!model.is("qwen3next")) return;
  model.add(layer + "ffn_gate_inp_shexp.weight", {width});
  model.add(layer + "ffn_gate_shexp.weight", {width, inner});
  model.add(layer + "ffn_up_shexp.weight", {width, inner});
  model.add(layer + "ffn_down_shexp.weight", {inner, width});
}

void add_rest(Model& model, const std::string& layer, U number) {
  if (model.is("plamo2")) {
    model.add(layer + "post_attention_norm", {width});
    model.add(layer + "ffn_norm.weight", {width});
    model.add(layer + "ffn_up.weight", {width, 2 * hidden});
    model.add(layer + "ffn_down.weight", {hidden, width});
    model.add(layer + "post_ffw_norm", {width});
    return;
  }
  if (model.is("qwen3next") || model.is("qwen35")) {
    model.add(layer + "post_attention_norm.weight", {width});
  } else {
    model.add(layer + (model.is("falcon-h1") ? "ffn_norm" : "ffn_norm.weight"), {width});
  }
  const bool of_experts = model.is("qwen3next") || (model.is("lfm2moe") && number > 0) ||
                          (model.is("jamba") && number % 2 == 1);
  if (of_experts) return add_experts(model, layer, model.is("jamba") ? hidden : width);
  model.add(layer + "ffn_gate.weight", {width, hidden});
  model.add(layer + "ffn_up.weight", {width, hidden});
  model.add(layer + "ffn_down.weight", {hidden, width});
}

void add_metadata(Model& model) {
  // Attention, two layers of the other kind, attention; or both kinds in every layer, or in turn.
  if (model.is("falcon-h1") || model.is("qwen3next") || model.is("qwen35")) {
    model.number("attention.head_count", heads);
    model.number("attention.head_count_kv", kv_heads);
  } else {
    model.layers("attention.head_count", {heads, 0, 0, heads});
    model.layers("attention.head_count_kv", {kv_heads, 0, 0, kv_heads});
  }
  if (model.is("nemotron_h")) {
    model.layers("feed_forward_length", {0, 0, hidden, 0});
  } else {
    model.number("feed_forward_length", hidden);
  }
  if (model.is("jamba")) model.states(2 * width, 16, 32, 0);
  if (model.is("plamo2")) model.states(2 * width, 64, 8, 0);
  if (model.is("falcon-h1")) model.states(2 * width, 32, 8, 1);
  if (model.is("granitehybrid") || model.is("nemotron_h")) model.states(2 * width, 128, 8, 2);
  if (model.is("qwen3next") || model.is("qwen35")) {
    model.states(width, head, 4, 2);
    model.number("full_attention_interval", 2);
    model.layers("rope.dimension_sections", {16, 8, 8, 0});
  }
  if (model.is("lfm2") || model.is("lfm2moe")) model.number("shortconv.l_cache", 3);
  if (model.is("jamba") || model.is("qwen3next") || model.is("lfm2moe")) {
    model.number("expert_count", experts);
    model.number("expert_used_count", 2);
    model.number("expert_feed_forward_length", width);
    model.number("expert_shared_feed_forward_length", width);
    model.number("expert_gating_func", model.is("lfm2moe") ? 2 : 1);
    model.number("leading_dense_block_count", 1);
  }
}

bool has_attention(const Model& model, U layer) {
  if (model.is("qwen3next") || model.is("qwen35")) return layer % 2 == 1;
  return model.is("falcon-h1") || layer == 0 || layer == 3;
}

}  // namespace

const std::vector<std::string>& hybrid_architectures() {
  static const std::vector<std::string> all{"jamba",      "falcon-h1", "granitehybrid",
                                            "nemotron_h", "plamo2",    "qwen3next",
                                            "qwen35",     "lfm2",      "lfm2moe"};
  return all;
}

Status write_hybrid_model(const std::filesystem::path& path, const HybridSpec& spec) {
  Model model(spec);
  add_metadata(model);
  for (U i = 0; i < layer_count; ++i) {
    const std::string layer = formatted("blk.{}.", i);
    model.add(layer + "attn_norm.weight", {width});
    const bool only_units = model.is("nemotron_h") && i == 2;
    if (only_units) {
      model.add(layer + "ffn_up.weight", {width, hidden});
      model.add(layer + "ffn_down.weight", {hidden, width});
      continue;
    }
    if (has_attention(model, i)) add_attention(model, layer);
    if (!has_attention(model, i) || model.is("falcon-h1")) add_recurrent(model, layer);
    if (!model.is("nemotron_h")) add_rest(model, layer, i);
  }
  return model.write(path);
}

}  // namespace weft::test
