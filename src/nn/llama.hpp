#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "nn/layers.hpp"
#include "nn/parameters.hpp"
#include "weft/device.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

/// The sizes of a decoder-only transformer: RMS norms, rotary positions, grouped-query attention,
/// gated MLPs.
struct LlamaConfig {
  std::uint64_t vocabulary = 4096;
  std::uint64_t layers = 4;
  std::uint64_t width = 128;
  std::uint64_t heads = 4;
  std::uint64_t kv_heads = 4;
  std::uint64_t hidden = 352;  ///< Width inside the MLPs.
  std::uint64_t context = 128;
  bool tied = true;  ///< The output matrix is the embedding.
  float norm_epsilon = 1e-5F;
  float rope_base = 10000;

  [[nodiscard]] std::uint64_t head_width() const { return width / heads; }
  bool operator==(const LlamaConfig&) const = default;
};

/// What is left out at random while a model learns: elements of what layers add, each with
/// probability `rate`. The choice follows from `seed`, two u32.
struct DropoutInput {
  float rate = 0;
  Tensor seed;
};

/// How a model is computed where it learns.
struct ForwardOptions {
  DropoutInput drop;
  bool recompute =
      false;  ///< Keep what enters each layer alone, and compute the rest again for gradients.
};

/// Says in a sentence what cannot work about the sizes.
Status check(const LlamaConfig& config);

/// The model: which parameters it has, and what it computes from them. Parameters have the names
/// and shapes that GGUF files give them, but heads of q and k rotate halves (see rope()).
class Llama {
 public:
  /// Throws weft::Error where check() fails.
  explicit Llama(const LlamaConfig& config);

  [[nodiscard]] const LlamaConfig& config() const { return config_; }
  /// Matrices are trained with weight decay and may be computed with in 16 bits; vectors (of norms)
  /// are not.
  [[nodiscard]] const ParameterGroup& matrices() const { return matrices_; }
  [[nodiscard]] const ParameterGroup& vectors() const { return vectors_; }
  [[nodiscard]] std::uint64_t parameter_count() const {
    return matrices_.count() + vectors_.count();
  }

  /// Logits [batch × T, vocabulary] of i32 tokens [batch, T]. `matrices` and `vectors` are views in
  /// the order of the groups; products are computed in the type of the matrices, sums along the
  /// layers in f32.
  [[nodiscard]] Tensor forward(const Tensor& tokens, const std::vector<Tensor>& matrices,
                               const std::vector<Tensor>& vectors,
                               const ForwardOptions& options = {}) const;

 private:
  /// Numbers of one layer's parameters in their groups.
  struct Layer {
    std::size_t attention_norm, q, k, v, output;
    std::size_t mlp_norm, gate, up, down;
  };

  LlamaConfig config_;
  ParameterGroup matrices_;
  ParameterGroup vectors_;
  std::size_t embedding_ = 0;
  std::size_t output_ = 0;
  std::size_t output_norm_ = 0;
  std::vector<Layer> layers_;
};

}  // namespace weft::nn
