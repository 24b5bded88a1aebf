#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/compile.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

/// Which rule an Optimizer follows, and its constants.
struct OptimizerOptions {
  enum class Rule : std::uint8_t {
    sgd,    ///< v = momentum·v + g; p -= rate·v
    adam,   ///< Weight decay is added to the gradient.
    adamw,  ///< Weight decay is taken from the parameter itself.
  };
  Rule rule = Rule::adamw;
  double momentum = 0.9;  ///< sgd only.
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
};

/// Turns gradients into updates of f32 variables. Everything it remembers are variables, too, so that a compiled step
/// can hold the whole of it.
class Optimizer {
 public:
  /// `decay` has the weight decay of each variable.
  Optimizer(OptimizerOptions options, std::vector<Tensor> variables, std::vector<double> decay);

  /// One step with the learning rate `rate` (one element, f32). Where `apply` (one element) is given and 0, all stays
  /// as it is: a step whose gradients overflowed.
  [[nodiscard]] std::vector<Update> step(const std::vector<Tensor>& gradients, const Tensor& rate,
                                         const Tensor& apply = {}) const;

  /// What a checkpoint must keep, by name.
  [[nodiscard]] std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  struct Slot {
    Tensor variable;
    Tensor first;   ///< Mean of the gradients (sgd: their running sum).
    Tensor second;  ///< Mean of their squares; empty for sgd.
    double decay;
  };

  OptimizerOptions options_;
  std::vector<Slot> slots_;
  Tensor count_;  ///< Steps so far, as f32.
};

/// The square root of the sum of the squares of all elements.
Tensor global_norm(const std::vector<Tensor>& tensors);

/// What to multiply gradients with so that their norm is at most `most`.
Tensor clip_factor(const Tensor& norm, double most);

/// The factor that keeps 16-bit gradients in range: halved after a step that overflowed, doubled after `patience` steps
/// that did not.
class LossScale {
 public:
  LossScale(const Device& device, double initial, double patience = 1000);

  /// One element, f32.
  [[nodiscard]] const Tensor& value() const { return scale_; }
  /// The next value, given 1 for a step without overflow, else 0.
  [[nodiscard]] std::vector<Update> update(const Tensor& fine) const;
  [[nodiscard]] std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  Tensor scale_;
  Tensor good_;  ///< Steps without overflow since the last change.
  double patience_;
};

}  // namespace weft::nn
