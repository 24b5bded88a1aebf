#include "nn/llama.hpp"

#include <cmath>
#include <format>

#include "nn/result.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

Status check(const LlamaConfig& c) {
  const auto bad = [](const std::string& text) -> Status {
    return fail(ErrorCode::invalid_argument, "{}", text);
  };
  if (c.vocabulary == 0 || c.layers == 0 || c.width == 0 || c.hidden == 0 || c.context == 0) {
    return bad("No size of a model can be 0.");
  }
  if (c.heads == 0 || c.width % c.heads != 0 || c.head_width() % 2 != 0) {
    return bad(
        std::format("A width of {} cannot be cut into {} heads of even width.", c.width, c.heads));
  }
  if (c.kv_heads == 0 || c.heads % c.kv_heads != 0) {
    return bad(
        std::format("{} heads cannot share {} heads of keys and values.", c.heads, c.kv_heads));
  }
  return {};
}

Llama::Llama(const LlamaConfig& config) : config_(config) {
  value_or_throw(check(config));
  const std::uint64_t width = config.width;
  const std::uint64_t kv_width = config.kv_heads * config.head_width();
  constexpr float deviation = 0.02F;
  // Each layer adds two terms to the sum that runs through the model; together they shall not grow with the depth.
  const float residual = deviation / std::sqrt(2.0F * static_cast<float>(config.layers));
  const auto matrix = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns,
                          float spread) {
    return matrices_.add(name + ".weight", {rows, columns}, 0, spread);
  };
  const auto norm = [&](const std::string& name) {
    return vectors_.add(name + ".weight", {width}, 1, 0);
  };
  embedding_ = matrix("token_embd", config.vocabulary, width, deviation);
  for (std::uint64_t i = 0; i < config.layers; ++i) {
    const std::string block = std::format("blk.{}.", i);
    layers_.push_back({.attention_norm = norm(block + "attn_norm"),
                       .q = matrix(block + "attn_q", width, width, deviation),
                       .k = matrix(block + "attn_k", kv_width, width, deviation),
                       .v = matrix(block + "attn_v", kv_width, width, deviation),
                       .output = matrix(block + "attn_output", width, width, residual),
                       .mlp_norm = norm(block + "ffn_norm"),
                       .gate = matrix(block + "ffn_gate", config.hidden, width, deviation),
                       .up = matrix(block + "ffn_up", config.hidden, width, deviation),
                       .down = matrix(block + "ffn_down", width, config.hidden, residual)});
  }
  output_norm_ = norm("output_norm");
  output_ = config.tied ? embedding_ : matrix("output", config.vocabulary, width, deviation);
}

Tensor Llama::forward(const Tensor& tokens, const std::vector<Tensor>& matrices,
                      const std::vector<Tensor>& vectors) const {
  const Device device = tokens.device();
  const DType dtype = matrices.front().dtype();
  const std::uint64_t batch = tokens.shape()[0];
  const std::uint64_t length = tokens.shape()[1];
  const std::uint64_t rows = batch * length;
  const std::uint64_t width = config_.head_width();
  const std::uint64_t groups = config_.heads / config_.kv_heads;
  const RopeTables tables = rope_tables(device, length, width, config_.rope_base, dtype);
  const Tensor mask = causal_mask(device, length, 0, dtype);

  /// [rows, heads × width] → [batch, kv_heads, heads of each, length, width]
  const auto heads = [&](const Tensor& x, std::uint64_t each) {
    return x.reshape({batch, length, config_.kv_heads, each, width}).permute({0, 2, 3, 1, 4});
  };
  const auto norm = [&](const Tensor& x, std::size_t weight) {
    return rms_norm(x, vectors[weight], config_.norm_epsilon).to(dtype);
  };

  Tensor x = embedding(matrices[embedding_], tokens.reshape({rows})).to(DType::f32);
  for (const Layer& layer : layers_) {
    const Tensor h = norm(x, layer.attention_norm);
    const Tensor q = rope(heads(linear(h, matrices[layer.q]), groups), tables);
    const Tensor k = rope(heads(linear(h, matrices[layer.k]), 1), tables);
    const Tensor v = heads(linear(h, matrices[layer.v]), 1);
    const Tensor mixed =
        attention(q, k, v, mask).permute({0, 3, 1, 2, 4}).reshape({rows, config_.heads * width});
    x = x + linear(mixed, matrices[layer.output]).to(DType::f32);
    const Tensor g = norm(x, layer.mlp_norm);
    x = x +
        gated_mlp(g, matrices[layer.gate], matrices[layer.up], matrices[layer.down]).to(DType::f32);
  }
  return linear(norm(x, output_norm_), matrices[output_]);
}

}  // namespace weft::nn
