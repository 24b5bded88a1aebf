#include "nn/llama.hpp"

#include <cmath>

#include "base/format.hpp"
#include "nn/result.hpp"
#include "weft/grad.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

namespace {

/// The parameters of a layer.
struct LayerTensors {
  Tensor attention_norm, q, k, v, output;
  Tensor mlp_norm, gate, up, down;
};

/// What leaves layer `number` where x enters it.
Tensor layer_forward(const LlamaConfig& config, const Tensor& x, const LayerTensors& layer,
                     std::uint64_t batch, const DropoutInput& drop, std::uint32_t number) {
  const DType dtype = layer.q.dtype();
  const HeadOptions heads{
      .heads = config.heads, .kv_heads = config.kv_heads, .rope_base = config.rope_base};
  const auto norm = [&](const Tensor& rows, const Tensor& weight) {
    return rms_norm(rows, weight, config.norm_epsilon).to(dtype);
  };
  /// What is added to the sum that runs through the model.
  const auto added = [&](const Tensor& rows, const Tensor& weight, std::uint32_t stream) {
    const Tensor y = linear(rows, weight, {}, DType::f32);
    return drop.rate > 0 ? dropout(y, drop.rate, drop.seed, stream) : y;
  };
  const Tensor h = norm(x, layer.attention_norm);
  const Tensor q = linear(h, layer.q);
  const Tensor k = linear(h, layer.k);
  const Tensor v = linear(h, layer.v);
  const Tensor mixed = x + added(self_attention(q, k, v, batch, heads), layer.output, 2 * number);
  const Tensor g = norm(mixed, layer.mlp_norm);
  return mixed + added(gated_unit(g, layer.gate, layer.up), layer.down, 2 * number + 1);
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

Llama::Llama(const LlamaConfig& config) : config_(config) {
  value_or_throw(check(config));
  const std::uint64_t width = config.width;
  const std::uint64_t kv_width = config.kv_heads * config.head_width();
  constexpr float deviation = 0.02F;
  // Each layer adds two terms to the sum that runs through the model; together they shall not grow
  // with the depth.
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
    const std::string block = formatted("blk.{}.", i);
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
                      const std::vector<Tensor>& vectors, const ForwardOptions& options) const {
  const std::uint64_t batch = tokens.shape()[0];
  Tensor x = embedding(matrices[embedding_], tokens.reshape({tokens.size()})).to(DType::f32);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& of = layers_[i];
    const auto number = static_cast<std::uint32_t>(i);
    const auto compute = [=, config = config_, drop = options.drop](const std::vector<Tensor>& in) {
      return layer_forward(config, in[0],
                           {in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], in[9]}, batch,
                           drop, number);
    };
    const std::vector<Tensor> in{x,
                                 vectors[of.attention_norm],
                                 matrices[of.q],
                                 matrices[of.k],
                                 matrices[of.v],
                                 matrices[of.output],
                                 vectors[of.mlp_norm],
                                 matrices[of.gate],
                                 matrices[of.up],
                                 matrices[of.down]};
    x = options.recompute ? checkpoint(compute, in) : compute(in);
  }
  const Tensor last = rms_norm(x, vectors[output_norm_], config_.norm_epsilon);
  return linear(last.to(matrices.front().dtype()), matrices[output_]);
}

}  // namespace weft::nn
