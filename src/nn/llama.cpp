#include "nn/llama.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "nn/modules/substitution.hpp"
#include "nn/random.hpp"
#include "nn/result.hpp"
#include "weft/grad.hpp"

namespace weft::nn {
namespace {

constexpr float deviation = 0.02F;  // of what matrices start with

/// The modules want them checked.
LlamaConfig checked(LlamaConfig config) {
  value_or_throw(check(config));
  return config;
}

BlockChoices block_of(const LlamaConfig& config, float dropout) {
  return {.attention = {.kv_heads = config.kv_heads,
                        .causal = true,
                        .rope_base = config.rope_base,
                        .bias = false},
          .hidden = config.hidden,
          .gated = true,
          .rms = true,
          .dropout = dropout,
          .eps = config.norm_epsilon};
}

}  // namespace

Status check(const LlamaConfig& c) {
  const auto bad = [](const std::string& text) -> Status {
    return fail(ErrorCode::invalid_argument, "{}", text);
  };
  if (c.vocabulary == 0 || c.layers == 0 || c.width == 0 || c.hidden == 0 || c.context == 0) {
    return bad("No size of a model can be 0.");
  }
  if (c.heads == 0 || c.width % c.heads != 0 || c.head_width() % 2 != 0) {
    return bad(
        formatted("A width of {} cannot be cut into {} heads of even width.", c.width, c.heads));
  }
  if (c.kv_heads == 0 || c.heads % c.kv_heads != 0) {
    return bad(
        formatted("{} heads cannot share {} heads of keys and values.", c.heads, c.kv_heads));
  }
  return {};
}

std::uint64_t ParameterInfo::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

std::vector<ParameterInfo> parameters_of(const LlamaConfig& config) {
  const std::uint64_t width = checked(config).width;
  const std::uint64_t kv_width = config.kv_heads * config.head_width();
  // Each layer adds two terms to the sum that runs through the model; together they shall not grow
  // with the depth.
  const float residual = deviation / std::sqrt(2.0F * static_cast<float>(config.layers));
  std::vector<ParameterInfo> all;
  const auto add = [&](const std::string& name, const std::string& file, Shape shape,
                       float spread = deviation) {
    const bool norm = shape.size() == 1;
    all.push_back({name + ".weight", file + ".weight", std::move(shape), norm ? 1.0F : 0.0F,
                   norm ? 0.0F : spread});
  };
  add("embedding", "token_embd", {config.vocabulary, width});
  for (std::uint64_t i = 0; i < config.layers; ++i) {
    const std::string name = formatted("blocks.{}.", i);
    const std::string file = formatted("blk.{}.", i);
    add(name + "attention_norm", file + "attn_norm", {width});
    add(name + "attention.q_proj", file + "attn_q", {width, width});
    add(name + "attention.k_proj", file + "attn_k", {kv_width, width});
    add(name + "attention.v_proj", file + "attn_v", {kv_width, width});
    add(name + "attention.out_proj", file + "attn_output", {width, width}, residual);
    add(name + "mlp_norm", file + "ffn_norm", {width});
    add(name + "gate", file + "ffn_gate", {config.hidden, width});
    add(name + "up", file + "ffn_up", {config.hidden, width});
    add(name + "down", file + "ffn_down", {width, config.hidden}, residual);
  }
  add("output_norm", "output_norm", {width});
  if (!config.tied) add("output", "output", {config.vocabulary, width});
  return all;
}

ModelValues initial_values(const LlamaConfig& config, std::uint64_t seed) {
  ModelValues out;
  for (const ParameterInfo& info : parameters_of(config)) {
    std::vector<float>& values = out[info.file];
    values.resize(info.count());
    Random random(seed, info.file);
    for (float& value : values) {
      const double noise = info.deviation > 0 ? random.normal() * info.deviation : 0;
      value = static_cast<float>(info.mean + noise);
    }
  }
  return out;
}

Llama::Llama(const Device& device, const LlamaConfig& config, std::uint64_t seed, float dropout)
    : Llama(Init(device), checked(config), dropout) {
  const ModelValues values = initial_values(config, seed);
  std::map<std::string, Tensor> tensors;
  for (const ParameterInfo& info : parameters_of(config)) {
    tensors.emplace(info.name, device.tensor(info.shape, values.at(info.file)));
  }
  load_state(tensors);
}

Llama::Llama(Init init, const LlamaConfig& config, float dropout)
    : config_(config),
      embedding_(init, config.vocabulary, config.width),
      output_norm_(init, config.width, config.norm_epsilon) {
  add("embedding", embedding_);
  for (std::uint64_t i = 0; i < config.layers; ++i) {
    blocks_.push_back(std::make_unique<TransformerBlock>(init, config.width, config.heads,
                                                         block_of(config, dropout)));
    add(formatted("blocks.{}", i), *blocks_.back());
  }
  add("output_norm", output_norm_);
  if (config.tied) return;
  output_ = std::make_unique<Linear>(init, config.width, config.vocabulary, false);
  add("output", *output_);
}

Tensor Llama::forward(const Tensor& tokens, bool recompute) {
  Tensor x = embedding_(tokens).to(DType::f32);
  for (const std::unique_ptr<TransformerBlock>& block : blocks_) {
    if (!recompute) {
      x = (*block)(x);
      continue;
    }
    std::vector<Tensor> inputs{x};
    std::ranges::copy(Substitution::current(*block), std::back_inserter(inputs));
    // The parameters are inputs, so that gradients flow to them.
    x = checkpoint(
        [layer = block.get()](const std::vector<Tensor>& in) {
          const Substitution now(*layer, std::span(in).subspan(1));
          return (*layer)(in.front());
        },
        inputs);
  }
  const Tensor last = output_norm_(x).reshape({tokens.size(), config_.width});
  return output_ ? (*output_)(last) : embedding_.as_linear(last);
}

}  // namespace weft::nn
