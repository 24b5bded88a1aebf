#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/compile.hpp"
#include "weft/nn/module.hpp"

/// Rules that turn gradients into new values of parameters.
namespace weft::optim {

/// Parameters that are changed alike.
struct Group {
  std::vector<nn::Named> parameters;
  double lr_scale = 1;                 ///< Times the learning rate of a step.
  std::optional<double> weight_decay;  ///< Else that of the optimizer.
  /// Variables of a 16-bit type that follow the parameters, rounded: for models that compute in
  /// that type. Empty, or one for each parameter.
  std::vector<Tensor> working{};
};

/// Remembers what a rule needs from step to step, in variables, so that a compiled step can hold
/// the whole of it.
class Optimizer {
 public:
  explicit Optimizer(std::vector<Group> groups, double weight_decay);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The parameters of all groups, in the order of the gradients that step() takes.
  [[nodiscard]] std::vector<Tensor> parameters() const;
  /// New values of parameters and memory for one step. The rate is one f32; gradients are
  /// multiplied by `scale` (one f32, or empty), and where that is not finite everything stays as it
  /// is.
  [[nodiscard]] std::vector<Update> step(const std::vector<Tensor>& gradients, const Tensor& rate,
                                         const Tensor& scale = {}) const;
  /// The same at once: for code that compiles nothing.
  void apply(const std::vector<Tensor>& gradients, double rate) const;

  /// What a checkpoint must keep, by name, and the way back.
  [[nodiscard]] std::vector<nn::Named> state() const;
  void load_state(const std::map<std::string, Tensor>& values) const;
  /// Keeps a copy of state() as it is now in the host's memory, for recover(), as Module::keep()
  /// does of a model.
  void keep() const;

 protected:
  /// One parameter and what is remembered of it.
  struct Slot {
    nn::Named parameter;
    double lr_scale = 1;
    double weight_decay = 0;
    Tensor working;  ///< May be empty.
    std::vector<nn::Named> memory;
  };
  /// What a rule is told of one parameter.
  struct Change {
    const Slot& slot;
    Tensor gradient;  ///< Of any float type.
    Tensor rate;
    Tensor count;  ///< The number of this step: 1, 2, ….
    Tensor scale;  ///< What gradients are multiplied by; may be empty.
  };
  /// What a rule makes of it.
  struct Changed {
    Tensor parameter;
    std::vector<Tensor> memory;
    Tensor working;  ///< Where the slot has one; empty: the parameter, rounded.
  };
  /// Adds a zero tensor of the shape of each parameter under a name.
  void remember(const std::string& name);
  /// The new values, which are the old ones where the scale is not finite.
  [[nodiscard]] virtual Changed rule(const Change& change) const = 0;
  /// For rules: the gradient in f32 and scaled, and values that stay as they were where the scale
  /// is not finite.
  static Tensor scaled_gradient(const Change& change);
  static Changed unless_overflow(const Change& change, const Changed& values);

 private:
  std::vector<Slot> slots_;
  Tensor count_;
};

/// p - lr · v, where v = momentum · v + g + weight_decay · p.
struct SGDOptions {
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
};
class SGD : public Optimizer {
 public:
  explicit SGD(const nn::Module& model, const SGDOptions& options = {});
  explicit SGD(std::vector<Group> groups, const SGDOptions& options = {});

 private:
  [[nodiscard]] Changed rule(const Change& change) const override;
  SGDOptions options_;
};

/// Adam as first published, where decay is added to the gradients, and AdamW, where it is taken
/// from the parameters.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};
class Adam : public Optimizer {
 public:
  explicit Adam(const nn::Module& model, const AdamOptions& options = {});
  explicit Adam(std::vector<Group> groups, const AdamOptions& options = {}, bool coupled = true);

 private:
  [[nodiscard]] Changed rule(const Change& change) const override;
  AdamOptions options_;
  bool coupled_;
};
class AdamW : public Adam {
 public:
  explicit AdamW(const nn::Module& model, AdamOptions options = {.weight_decay = 0.01});
  explicit AdamW(std::vector<Group> groups, AdamOptions options = {.weight_decay = 0.01});
};

/// p - lr · (sign(beta1 · m + (1 - beta1) · g) + weight_decay · p), m = beta2 · m + (1 - beta2) ·
/// g.
struct LionOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
};
class Lion : public Optimizer {
 public:
  explicit Lion(const nn::Module& model, const LionOptions& options = {});
  explicit Lion(std::vector<Group> groups, const LionOptions& options = {});

 private:
  [[nodiscard]] Changed rule(const Change& change) const override;
  LionOptions options_;
};

/// Learning rates over a training, by the number of the step from 0: up in a straight line over
/// `warmup` steps, then constant, or down along a cosine or a line to `floor` times the highest at
/// the last step.
enum class Decay : std::uint8_t { constant, linear, cosine };
struct Schedule {
  double lr = 1e-3;
  std::uint64_t steps = 1;
  std::uint64_t warmup = 0;
  Decay decay = Decay::cosine;
  double floor = 0;
  [[nodiscard]] double operator()(std::uint64_t step) const;
};

/// The moving average of a model's parameters: average = decay · average + (1 - decay) · parameter.
class Ema {
 public:
  Ema(const nn::Module& model, double decay);
  /// To be made part of a step, with the new values that its other updates have for parameters.
  [[nodiscard]] std::vector<Update> step(const std::vector<Update>& updates) const;
  /// The averages under the names of the parameters: for load_state() of a second model, or a file.
  [[nodiscard]] const std::vector<nn::Named>& averages() const { return averages_; }

 private:
  double decay_;
  std::vector<nn::Named> parameters_;
  std::vector<nn::Named> averages_;
};

/// The factor that keeps 16-bit gradients in range: halved after a step that overflowed, doubled
/// after `patience` steps that did not. It stays within 1 and 2²⁴.
class LossScale {
 public:
  explicit LossScale(const Device& device, double initial = 65536, double patience = 1000);

  /// One f32, which the loss is multiplied by.
  [[nodiscard]] const Tensor& value() const { return scale_; }
  /// The next value after a step whose gradients were multiplied by `scale`, which is not finite
  /// where they overflowed.
  [[nodiscard]] std::vector<Update> step(const Tensor& scale) const;
  /// What a checkpoint must keep, by name.
  [[nodiscard]] std::vector<nn::Named> state() const;

 private:
  Tensor scale_;
  Tensor good_;  // steps without overflow since the last change
  double patience_;
};

/// Choices for a Step.
struct StepOptions {
  double clip = 0;         ///< Largest norm of all gradients together; 0: as they are.
  std::uint64_t seed = 0;  ///< Of what dropout drops.
  const Ema* ema = nullptr;
  const LossScale* loss_scale =
      nullptr;  ///< For models that compute in f16; it must outlive the step.
};

/// A training step that is compiled and replayed: loss, gradients, clipping, the optimizer, running
/// means of batch norms. Model and optimizer must outlive it.
class Step {
 public:
  /// The loss (one element) of a batch: called once per set of shapes.
  using Loss = std::function<Tensor(const std::vector<Tensor>& batch)>;
  Step(nn::Module& model, const Optimizer& optimizer, Loss loss, const StepOptions& options = {});
  /// Takes one step, and gives the loss without waiting for it.
  Tensor operator()(std::vector<Tensor> batch, double rate);
  [[nodiscard]] CompileReport report() const { return step_.report(); }
  /// Steps so far: what dropout follows from. A training that goes on sets it.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  void set_count(std::uint32_t count) { count_ = count; }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
  Compiled step_;
};

}  // namespace weft::optim
