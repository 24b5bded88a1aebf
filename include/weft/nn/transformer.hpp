#pragma once

#include <cstdint>
#include <memory>

#include "weft/nn/layers.hpp"

namespace weft::nn {

/// How MultiheadAttention looks at a sequence.
struct AttentionChoices {
  std::uint64_t kv_heads =
      0;  ///< Heads of keys and values, each shared by several of queries; 0: as many as heads.
  bool causal = false;       ///< A position sees itself and what came before it.
  std::uint64_t window = 0;  ///< With a value > 0 only so many positions up to its own.
  double rope_base = 0;      ///< With a value > 0 queries and keys turn with their position.
  bool bias = true;
};

/// Keys and values of the positions so far, for a model that goes on token by token. Empty at
/// first.
struct AttentionCache {
  Tensor k;  ///< [batch, key heads, positions, size]
  Tensor v;
  [[nodiscard]] std::uint64_t length() const { return k ? k.shape()[2] : 0; }
};

/// Attention of sequences [batch, positions, width] to themselves, in several heads.
class MultiheadAttention : public Layer {
 public:
  MultiheadAttention(Init& init, std::uint64_t width, std::uint64_t heads,
                     const AttentionChoices& choices = {});
  [[nodiscard]] Tensor forward(const Tensor& x) override { return forward(x, {}); }
  /// The same with a mask, [positions, keys] or [batch, heads, positions, keys], that is added to
  /// the products, and with the positions before these in a cache, which it adds these to.
  [[nodiscard]] Tensor forward(const Tensor& x, const Tensor& mask,
                               AttentionCache* cache = nullptr);

 private:
  std::uint64_t heads_;
  std::uint64_t kv_heads_;
  AttentionChoices choices_;
  Linear q_;
  Linear k_;
  Linear v_;
  Linear out_;
};

/// What a TransformerBlock is made of.
struct BlockChoices {
  AttentionChoices attention{.causal = true};
  std::uint64_t hidden = 0;  ///< Width inside the MLP; 0: four times the width.
  bool gated = false;        ///< silu(x · gate) * (x · up) instead of gelu(x · up).
  bool rms = false;          ///< RMS norms instead of layer norms.
  float dropout = 0;
  float eps = 1e-5F;  ///< Of the norms.
};

/// x + attention(norm(x)), then that + mlp(norm(that)).
class TransformerBlock : public Layer {
 public:
  TransformerBlock(Init& init, std::uint64_t width, std::uint64_t heads,
                   const BlockChoices& choices = {});
  [[nodiscard]] Tensor forward(const Tensor& x) override { return forward(x, {}); }
  [[nodiscard]] Tensor forward(const Tensor& x, const Tensor& mask,
                               AttentionCache* cache = nullptr);

 private:
  std::unique_ptr<Layer> attention_norm_;
  MultiheadAttention attention_;
  std::unique_ptr<Layer> mlp_norm_;
  std::unique_ptr<Linear> gate_;
  Linear up_;
  Linear down_;
  Dropout attention_drop_;
  Dropout mlp_drop_;
};

}  // namespace weft::nn
