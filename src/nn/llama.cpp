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
                      const std::vector<Tensor>& vectors, const Dropout& drop) const {
  const DType dtype = matrices.front().dtype();
  const std::uint64_t batch = tokens.shape()[0];
  const HeadOptions heads{
      .heads = config_.heads, .kv_heads = config_.kv_heads, .rope_base = config_.rope_base};
  const auto norm = [&](const Tensor& x, std::size_t weight) {
    return rms_norm(x, vectors[weight], config_.norm_epsilon).to(dtype);
  };
  /// What a layer adds to the sum that runs through the model.
  std::uint32_t stream = 0;
  const auto added = [&](const Tensor& x, std::size_t weight) {
    const Tensor y = linear(x, matrices[weight], {}, DType::f32);
    return drop.rate > 0 ? dropout(y, drop.rate, drop.seed, stream++) : y;
  };

  Tensor x = embedding(matrices[embedding_], tokens.reshape({tokens.size()})).to(DType::f32);
  for (const Layer& layer : layers_) {
    const Tensor h = norm(x, layer.attention_norm);
    const Tensor q = linear(h, matrices[layer.q]);
    const Tensor k = linear(h, matrices[layer.k]);
    const Tensor v = linear(h, matrices[layer.v]);
    x = x + added(self_attention(q, k, v, batch, heads), layer.output);
    const Tensor g = norm(x, layer.mlp_norm);
    x = x + added(gated_unit(g, matrices[layer.gate], matrices[layer.up]), layer.down);
  }
  return linear(norm(x, output_norm_), matrices[output_]);
}

}  // namespace weft::nn
