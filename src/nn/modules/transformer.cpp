#include "weft/nn/transformer.hpp"

#include "base/format.hpp"
#include "weft/ops.hpp"

namespace weft::nn {
namespace {

std::uint64_t size_of_head(std::uint64_t width, std::uint64_t heads, std::uint64_t kv_heads) {
  if (heads == 0 || width % heads != 0 || kv_heads == 0 || heads % kv_heads != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("MultiheadAttention cannot divide a width of {} into {} heads with {} heads "
                  "of keys and values.",
                  width, heads, kv_heads));
  }
  return width / heads;
}

std::unique_ptr<Layer> make_norm(Init& init, std::uint64_t width, const BlockChoices& choices) {
  if (choices.rms) return std::make_unique<RMSNorm>(init, width, choices.eps);
  return std::make_unique<LayerNorm>(init, width, choices.eps);
}

}  // namespace

MultiheadAttention::MultiheadAttention(Init& init, std::uint64_t width, std::uint64_t heads,
                                       const AttentionChoices& choices)
    : heads_(heads),
      kv_heads_(choices.kv_heads == 0 ? heads : choices.kv_heads),
      choices_(choices),
      q_(init, width, width, choices.bias),
      k_(init, width, size_of_head(width, heads, kv_heads_) * kv_heads_, choices.bias),
      v_(init, width, width / heads * kv_heads_, choices.bias),
      out_(init, width, width, choices.bias) {
  add("q_proj", q_);
  add("k_proj", k_);
  add("v_proj", v_);
  add("out_proj", out_);
}

Tensor MultiheadAttention::forward(const Tensor& x, const Tensor& mask, AttentionCache* cache) {
  const Shape& shape = x.shape();
  if (shape.size() != 3) {
    throw Error(ErrorCode::invalid_argument,
                formatted("MultiheadAttention needs [batch, positions, width]; this tensor has {} "
                          "dimensions.",
                          shape.size()));
  }
  const std::uint64_t size = shape[2] / heads_;
  const std::uint64_t before = cache != nullptr ? cache->length() : 0;
  const auto split = [&](const Tensor& y, std::uint64_t heads, bool turns) {
    Tensor parts = y.reshape({shape[0], shape[1], heads, size});
    if (turns && choices_.rope_base > 0) {
      parts = rope(parts, {.first = static_cast<std::int32_t>(before),
                           .base = static_cast<float>(choices_.rope_base)});
    }
    return parts.permute({0, 2, 1, 3});
  };
  const Tensor q = split(q_(x), heads_, true);
  Tensor k = split(k_(x), kv_heads_, true);
  Tensor v = split(v_(x), kv_heads_, false);
  if (cache != nullptr) {
    if (before > 0) {
      k = concat({cache->k, k}, 2);
      v = concat({cache->v, v}, 2);
    }
    cache->k = k;
    cache->v = v;
  }
  const Tensor mixed =
      attention(q, k, v, {.causal = choices_.causal, .window = choices_.window}, mask);
  return out_.forward(mixed.permute({0, 2, 1, 3}).reshape(shape), DType::f32);
}

TransformerBlock::TransformerBlock(Init& init, std::uint64_t width, std::uint64_t heads,
                                   const BlockChoices& choices)
    : attention_norm_(make_norm(init, width, choices)),
      attention_(init, width, heads, choices.attention),
      mlp_norm_(make_norm(init, width, choices)),
      up_(init, width, choices.hidden == 0 ? 4 * width : choices.hidden, choices.attention.bias),
      down_(init, choices.hidden == 0 ? 4 * width : choices.hidden, width, choices.attention.bias),
      attention_drop_(choices.dropout),
      mlp_drop_(choices.dropout) {
  add("attention_norm", *attention_norm_);
  add("attention", attention_);
  add("mlp_norm", *mlp_norm_);
  if (choices.gated) {
    gate_ = std::make_unique<Linear>(init, width, choices.hidden == 0 ? 4 * width : choices.hidden,
                                     choices.attention.bias);
    add("gate", *gate_);
  }
  add("up", up_);
  add("down", down_);
  add("attention_dropout", attention_drop_);
  add("mlp_dropout", mlp_drop_);
}

Tensor TransformerBlock::forward(const Tensor& x, const Tensor& mask, AttentionCache* cache) {
  const Tensor seen = attention_.forward((*attention_norm_)(x), mask, cache);
  const Tensor sum = x + attention_drop_(seen);
  const Tensor normed = (*mlp_norm_)(sum);
  const Tensor inner = gate_ ? swiglu((*gate_)(normed), up_(normed)) : gelu(up_(normed));
  return sum + mlp_drop_(down_.forward(inner, DType::f32));
}

}  // namespace weft::nn
