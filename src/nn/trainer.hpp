#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/data.hpp"
#include "nn/llama.hpp"
#include "weft/compile.hpp"
#include "weft/device.hpp"
#include "weft/optim.hpp"

namespace weft::nn {

/// How a model is trained.
struct TrainerConfig {
  LlamaConfig model;
  std::uint64_t batch = 16;      ///< Sequences that are computed at once.
  std::uint64_t accumulate = 1;  ///< Batches whose gradients are summed up for one step.
  DType dtype = DType::f32;      ///< Of matrix products; parameters are f32 in any case.
  optim::AdamOptions optimizer{.beta2 = 0.95, .weight_decay = 0.1};  ///< Only matrices decay.
  double clip = 1;         ///< Largest norm of the gradients.
  bool recompute = false;  ///< Less memory for more time: layers are computed again for gradients.
  double dropout = 0;  ///< Probability that an element of what a layer adds is left out of a step.
  std::uint64_t seed = 1;
  /// Trainers in other processes that learn together with this one: each takes batches of its own,
  /// and `sum_over_replicas` replaces values by their sums over all of them.
  std::uint64_t replicas = 1;
  std::uint64_t rank = 0;  ///< Number of this one.
  std::function<void(std::span<float>)> sum_over_replicas;
};

/// A model in training, what its optimizer remembers, and compiled steps over them.
class Trainer {
 public:
  Trainer(const Device& device, const TrainerConfig& config);

  [[nodiscard]] const Llama& model() const { return *model_; }
  [[nodiscard]] const TrainerConfig& config() const { return config_; }

  /// One step with the learning rate `rate` on `accumulate` batches of `batch` sequences each.
  /// Returns the mean loss of the batches as a tensor with one element, which the caller may read
  /// later. What is dropped follows from `number` (of the step), the seed and the rank among the
  /// replicas.
  Tensor step(std::span<const Batch> batches, double rate, std::uint64_t number = 0);
  /// The loss of a batch of `batch` sequences, without learning from it.
  [[nodiscard]] float loss(const Batch& batch) const;
  /// The logits for the token that follows `tokens` (at least one; of more than the context the
  /// last count).
  [[nodiscard]] std::vector<float> next_logits(std::span<const std::uint32_t> tokens) const;

  /// The values of the model's parameters; waits.
  [[nodiscard]] ModelValues values() const;
  /// Replaces them, and leaves what the optimizer remembers as it is.
  void set_values(const ModelValues& values);

  /// Everything that a checkpoint must keep, by name. All of it is f32.
  [[nodiscard]] std::vector<std::pair<std::string, Tensor>> state() const;
  /// Sets a tensor of state(); throws weft::Error where the count of values is not that of the
  /// tensor.
  void restore(const std::string& name, std::span<const float> values);

  /// What compiling the step came to; nothing before the first step.
  [[nodiscard]] CompileReport report() const;
  /// The graph of the step, as text.
  [[nodiscard]] std::string step_text() const;

 private:
  struct Gradients {
    Tensor loss;
    std::vector<Tensor> parameters;  ///< Still multiplied by the loss scale.
  };
  [[nodiscard]] Gradients gradients(const Tensor& tokens, const Tensor& labels,
                                    const Tensor& seed) const;
  [[nodiscard]] std::vector<Update> learn(const std::vector<Tensor>& gradients,
                                          const Tensor& rate) const;
  [[nodiscard]] Tensor logits(const Tensor& tokens) const;
  /// Whether gradients are summed up in variables before they are learnt from.
  [[nodiscard]] bool in_parts() const { return config_.accumulate > 1 || config_.replicas > 1; }
  /// Batches of one step in all processes.
  [[nodiscard]] double batches_per_step() const {
    return static_cast<double>(config_.accumulate * config_.replicas);
  }
  void sum_over_replicas() const;
  /// What is dropped from batch `number`.
  [[nodiscard]] Tensor seed_of(std::uint64_t number) const;
  void compile_functions();
  [[nodiscard]] Tensor upload(const std::vector<std::int32_t>& values) const;

  Device device_;
  TrainerConfig config_;
  std::shared_ptr<Llama> model_;
  std::vector<Named> parameters_;
  std::vector<Tensor> computed_;  ///< What is computed with: matrices in the type of products.
  std::shared_ptr<const optim::AdamW> optimizer_;
  std::optional<optim::LossScale> scale_;  ///< f16 only.
  /// Gradients summed up so far, and the loss, where a step takes several batches (in_parts).
  std::vector<Tensor> sums_;
  Compiled step_;        ///< (tokens, labels, seed, rate) → loss
  Compiled accumulate_;  ///< (tokens, labels, seed) → nothing of interest
  Compiled apply_;       ///< (rate) → loss
  Compiled loss_;        ///< (tokens, labels) → loss
  Compiled logits_;      ///< (tokens [1, context], row) → logits of that row
};

}  // namespace weft::nn
