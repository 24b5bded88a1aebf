#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "weft/device.hpp"
#include "weft/nn.hpp"
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

/// Says in a sentence what cannot work about the sizes.
Status check(const LlamaConfig& config);

/// What a parameter is and how it starts.
struct ParameterInfo {
  std::string name;  ///< Of the module.
  std::string file;  ///< In GGUF files.
  Shape shape;
  float mean = 0;
  float deviation = 0;  ///< Of the normal distribution it starts with; 0: every element is `mean`.

  [[nodiscard]] std::uint64_t count() const;
  /// Matrices are trained with weight decay and may be computed with in 16 bits; vectors (of norms)
  /// are not.
  [[nodiscard]] bool is_matrix() const { return shape.size() == 2; }
};

/// The parameters of a model of these sizes, in the order of Llama::parameters(). Throws
/// weft::Error where check() fails.
std::vector<ParameterInfo> parameters_of(const LlamaConfig& config);

/// Values of parameters by their names in files. Heads of q and k rotate halves (see rope()).
using ModelValues = std::map<std::string, std::vector<float>>;

/// What a model starts with; each parameter draws from a stream of the name that it has in files.
ModelValues initial_values(const LlamaConfig& config, std::uint64_t seed);

/// The model. It computes in the type of its matrices, sums along the layers in f32.
class Llama : public Module {
 public:
  /// Throws weft::Error where check() fails.
  Llama(const Device& device, const LlamaConfig& config, std::uint64_t seed, float dropout = 0);

  [[nodiscard]] const LlamaConfig& config() const { return config_; }

  /// Logits [batch × T, vocabulary] of i32 tokens [batch, T]. With `recompute` only what enters
  /// each layer is kept, and the rest computed again for gradients.
  [[nodiscard]] Tensor forward(const Tensor& tokens, bool recompute = false);

 private:
  Llama(Init init, const LlamaConfig& config, float dropout);
  LlamaConfig config_;
  Embedding embedding_;
  std::vector<std::unique_ptr<TransformerBlock>> blocks_;
  RMSNorm output_norm_;
  std::unique_ptr<Linear> output_;
};

}  // namespace weft::nn
