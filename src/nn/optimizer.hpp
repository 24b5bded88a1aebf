#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/compile.hpp"
#include "weft/device.hpp"
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

/// An f32 variable that an Optimizer changes.
struct Trained {
  Tensor variable;
  double decay = 0;  ///< Weight decay.
  Tensor working;    ///< Optional: a variable of a 16-bit type that follows it, rounded.
};

/// Turns gradients into updates of f32 variables. Everything it remembers are variables, too, so that a compiled step
/// can hold the whole of it.
class Optimizer {
 public:
  Optimizer(OptimizerOptions options, std::vector<Trained> trained);

  /// One step with the learning rate `rate` (one element, f32). Gradients, of any float type, are multiplied by `scale`
  /// (one element, f32; empty: 1); where that is not finite, all stays as it is: a step whose gradients overflowed.
  [[nodiscard]] std::vector<Update> step(const std::vector<Tensor>& gradients, const Tensor& rate,
                                         const Tensor& scale = {}) const;

  /// What a checkpoint must keep, by name.
  [[nodiscard]] std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  struct Slot {
    Trained trained;
    Tensor first;   ///< Mean of the gradients (sgd: their running sum).
    Tensor second;  ///< Mean of their squares; empty for sgd.
  };
  void descend(const Slot& slot, const Tensor& gradient, const Tensor& rate, const Tensor& scale,
               std::vector<Update>& updates) const;

  OptimizerOptions options_;
  std::vector<Slot> slots_;
  Tensor count_;  ///< Steps so far, as f32.
};

/// 1 where the one element of `x` is finite, else 0.
Tensor is_finite(const Tensor& x);

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
