#include <cmath>

#include "base/format.hpp"
#include "weft/ops.hpp"
#include "weft/optim.hpp"
#include "weft/recover.hpp"

namespace weft::optim {
namespace {

std::vector<Group> all_of(const nn::Module& model) { return {Group{model.parameters()}}; }

/// 1 where the one element of `x` is finite: no comparison holds for NaN.
Tensor finite(const Tensor& x) { return less(abs(x), x.device().full({1}, 3e38)); }

}  // namespace

Optimizer::Optimizer(std::vector<Group> groups, double weight_decay) {
  for (Group& group : groups) {
    if (!group.working.empty() && group.working.size() != group.parameters.size()) {
      throw Error(
          ErrorCode::invalid_argument,
          formatted("A group of {} parameters has {} working copies; there is one for each, "
                    "or none.",
                    group.parameters.size(), group.working.size()));
    }
    const std::size_t first = slots_.size();
    for (nn::Named& parameter : group.parameters) {
      if (parameter.tensor.dtype() != DType::f32) {
        throw Error(ErrorCode::invalid_argument,
                    formatted("An optimizer changes parameters of f32; '{}' is {}.", parameter.name,
                              name(parameter.tensor.dtype())));
      }
      const std::size_t at = slots_.size() - first;
      slots_.push_back({std::move(parameter),
                        group.lr_scale,
                        group.weight_decay.value_or(weight_decay),
                        group.working.empty() ? Tensor{} : group.working[at],
                        {}});
    }
  }
  if (slots_.empty()) {
    throw Error(ErrorCode::invalid_argument, "An optimizer needs at least one parameter.");
  }
  count_ = variable(slots_.front().parameter.tensor.device().full({1}, 0));
}

void Optimizer::remember(const std::string& name) {
  for (Slot& slot : slots_) {
    const Tensor& like = slot.parameter.tensor;
    slot.memory.push_back(
        {name + "." + slot.parameter.name, variable(like.device().full(like.shape(), 0))});
  }
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> all;
  for (const Slot& slot : slots_) all.push_back(slot.parameter.tensor);
  return all;
}

std::vector<Update> Optimizer::step(const std::vector<Tensor>& gradients, const Tensor& rate,
                                    const Tensor& scale) const {
  if (gradients.size() != slots_.size()) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A step needs a gradient for each of {} parameters; {} were given.",
                          slots_.size(), gradients.size()));
  }
  std::vector<Update> updates;
  const Tensor count = count_ + 1.0;
  updates.push_back({count_, scale ? where(finite(scale), count, count_) : count});
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Tensor own_rate = slot.lr_scale == 1 ? rate : rate * slot.lr_scale;
    const Changed values = rule({slot, gradients[i], own_rate, count, scale});
    updates.push_back({slot.parameter.tensor, values.parameter});
    for (std::size_t k = 0; k < slot.memory.size(); ++k) {
      updates.push_back({slot.memory[k].tensor, values.memory.at(k)});
    }
    if (slot.working) {
      updates.push_back({slot.working, values.working ? values.working
                                                      : values.parameter.to(slot.working.dtype())});
    }
  }
  return updates;
}

Tensor Optimizer::scaled_gradient(const Change& change) {
  const Tensor gradient = change.gradient.to(DType::f32);
  return change.scale ? gradient * change.scale : gradient;
}

Optimizer::Changed Optimizer::unless_overflow(const Change& change, const Changed& values) {
  if (!change.scale) return values;
  const Tensor fine = finite(change.scale);
  Changed out{where(fine, values.parameter, change.slot.parameter.tensor), {}, {}};
  for (std::size_t k = 0; k < values.memory.size(); ++k) {
    out.memory.push_back(where(fine, values.memory[k], change.slot.memory[k].tensor));
  }
  return out;
}

void Optimizer::apply(const std::vector<Tensor>& gradients, double rate) const {
  weft::apply(step(gradients, count_.device().full({1}, rate)));
}

std::vector<nn::Named> Optimizer::state() const {
  std::vector<nn::Named> all{{"count", count_}};
  for (const Slot& slot : slots_) {
    all.insert(all.end(), slot.memory.begin(), slot.memory.end());
  }
  return all;
}

void Optimizer::load_state(const std::map<std::string, Tensor>& values) const {
  std::vector<Update> updates;
  for (const nn::Named& each : state()) {
    const auto found = values.find(each.name);
    if (found == values.end()) {
      throw Error(ErrorCode::not_found, formatted("load_state: no values for {}.", each.name));
    }
    updates.push_back({each.tensor, found->second});
  }
  weft::apply(updates);
}

void Optimizer::keep() const {
  for (const nn::Named& each : state()) weft::keep(each.tensor);
}

SGD::SGD(const nn::Module& model, const SGDOptions& options) : SGD(all_of(model), options) {}

SGD::SGD(std::vector<Group> groups, const SGDOptions& options)
    : Optimizer(std::move(groups), options.weight_decay), options_(options) {
  if (options.momentum != 0) remember("velocity");
}

Optimizer::Changed SGD::rule(const Change& change) const {
  const Slot& slot = change.slot;
  const Tensor& p = slot.parameter.tensor;
  Tensor g = scaled_gradient(change);
  if (slot.weight_decay != 0) g = g + p * slot.weight_decay;
  if (slot.memory.empty()) return unless_overflow(change, {p - g * change.rate, {}, {}});
  const Tensor velocity = slot.memory[0].tensor * options_.momentum + g;
  const Tensor direction = options_.nesterov ? g + velocity * options_.momentum : velocity;
  return unless_overflow(change, {p - direction * change.rate, {velocity}, {}});
}

Adam::Adam(const nn::Module& model, const AdamOptions& options) : Adam(all_of(model), options) {}

Adam::Adam(std::vector<Group> groups, const AdamOptions& options, bool coupled)
    : Optimizer(std::move(groups), options.weight_decay), options_(options), coupled_(coupled) {
  remember("m");
  remember("v");
}

Optimizer::Changed Adam::rule(const Change& change) const {
  const Slot& slot = change.slot;
  AdamWOptions options{.learning_rate = change.rate,
                       .beta1 = options_.beta1,
                       .beta2 = options_.beta2,
                       .eps = options_.eps,
                       .weight_decay = slot.weight_decay,
                       .coupled = coupled_,
                       .scale = change.scale};  // It looks for an overflow itself.
  if (slot.working) options.working = slot.working.dtype();
  const AdamWStep next = adamw(slot.parameter.tensor, change.gradient, slot.memory[0].tensor,
                               slot.memory[1].tensor, change.count, options);
  return {next.weights, {next.m, next.v}, slot.working ? next.working : Tensor{}};
}

AdamW::AdamW(const nn::Module& model, AdamOptions options) : Adam(all_of(model), options, false) {}

AdamW::AdamW(std::vector<Group> groups, AdamOptions options)
    : Adam(std::move(groups), options, false) {}

Lion::Lion(const nn::Module& model, const LionOptions& options) : Lion(all_of(model), options) {}

Lion::Lion(std::vector<Group> groups, const LionOptions& options)
    : Optimizer(std::move(groups), options.weight_decay), options_(options) {
  remember("m");
}

Optimizer::Changed Lion::rule(const Change& change) const {
  const Slot& slot = change.slot;
  const Tensor& p = slot.parameter.tensor;
  const Tensor& m = slot.memory[0].tensor;
  const Tensor g = scaled_gradient(change);
  Tensor direction = sign(m * options_.beta1 + g * (1 - options_.beta1));
  if (slot.weight_decay != 0) direction = direction + p * slot.weight_decay;
  return unless_overflow(
      change, {p - direction * change.rate, {m * options_.beta2 + g * (1 - options_.beta2)}, {}});
}

LossScale::LossScale(const Device& device, double initial, double patience)
    : scale_(variable(device.full({1}, initial))),
      good_(variable(device.full({1}, 0))),
      patience_(patience) {}

std::vector<Update> LossScale::step(const Tensor& scale) const {
  const Tensor fine = finite(scale);
  const Tensor good = good_ + 1.0;
  const Tensor ripe = greater_equal(good, good.device().full({1}, patience_));
  // Bounded on both sides: 1 when gradients are not finite for another reason, 2²⁴ where nothing
  // ever overflows.
  const auto bounded = [](const Tensor& x) { return map("clamp", x, {1, 0x1p24}); };
  return {{scale_, where(fine, where(ripe, bounded(scale_ * 2.0), scale_), bounded(scale_ * 0.5))},
          {good_, where(logical_and(fine, logical_not(ripe)), good, good_ * 0.0)}};
}

std::vector<nn::Named> LossScale::state() const { return {{"value", scale_}, {"good", good_}}; }

}  // namespace weft::optim
