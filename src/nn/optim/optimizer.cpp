#include <cmath>

#include "base/format.hpp"
#include "weft/ops.hpp"
#include "weft/optim.hpp"

namespace weft::optim {
namespace {

std::vector<Group> all_of(const nn::Module& model) { return {Group{model.parameters()}}; }

/// 1 where the one element of `x` is finite: no comparison holds for NaN.
Tensor finite(const Tensor& x) { return less(abs(x), x.device().full({1}, 3e38)); }

}  // namespace

Optimizer::Optimizer(std::vector<Group> groups, double weight_decay) {
  for (Group& group : groups) {
    for (nn::Named& parameter : group.parameters) {
      if (parameter.tensor.dtype() != DType::f32) {
        throw Error(ErrorCode::invalid_argument,
                    formatted("An optimizer changes parameters of f32; '{}' is {}.", parameter.name,
                              name(parameter.tensor.dtype())));
      }
      slots_.push_back(
          {std::move(parameter), group.lr_scale, group.weight_decay.value_or(weight_decay), {}});
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
  const Tensor fine = scale ? finite(scale) : Tensor{};
  std::vector<Update> updates;
  const auto change = [&](const Tensor& target, const Tensor& value) {
    updates.push_back({target, fine ? where(fine, value, target) : value});
  };
  const Tensor count = count_ + 1.0;
  change(count_, count);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    Tensor gradient = gradients[i].to(DType::f32);
    if (scale) gradient = gradient * scale;
    const Tensor own_rate = slot.lr_scale == 1 ? rate : rate * slot.lr_scale;
    const std::vector<Tensor> values = rule({slot, gradient, own_rate, count});
    change(slot.parameter.tensor, values.at(0));
    for (std::size_t k = 0; k < slot.memory.size(); ++k) {
      change(slot.memory[k].tensor, values.at(k + 1));
    }
  }
  return updates;
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

SGD::SGD(const nn::Module& model, const SGDOptions& options) : SGD(all_of(model), options) {}

SGD::SGD(std::vector<Group> groups, const SGDOptions& options)
    : Optimizer(std::move(groups), options.weight_decay), options_(options) {
  if (options.momentum != 0) remember("velocity");
}

std::vector<Tensor> SGD::rule(const Change& change) const {
  const Slot& slot = change.slot;
  const Tensor& p = slot.parameter.tensor;
  Tensor g = change.gradient;
  if (slot.weight_decay != 0) g = g + p * slot.weight_decay;
  if (slot.memory.empty()) return {p - g * change.rate};
  const Tensor velocity = slot.memory[0].tensor * options_.momentum + g;
  const Tensor direction = options_.nesterov ? g + velocity * options_.momentum : velocity;
  return {p - direction * change.rate, velocity};
}

Adam::Adam(const nn::Module& model, const AdamOptions& options) : Adam(all_of(model), options) {}

Adam::Adam(std::vector<Group> groups, const AdamOptions& options, bool coupled)
    : Optimizer(std::move(groups), options.weight_decay), options_(options), coupled_(coupled) {
  remember("m");
  remember("v");
}

std::vector<Tensor> Adam::rule(const Change& change) const {
  const Slot& slot = change.slot;
  const AdamWStep next = adamw(slot.parameter.tensor, change.gradient, slot.memory[0].tensor,
                               slot.memory[1].tensor, change.count,
                               {.learning_rate = change.rate,
                                .beta1 = options_.beta1,
                                .beta2 = options_.beta2,
                                .eps = options_.eps,
                                .weight_decay = slot.weight_decay,
                                .coupled = coupled_});
  return {next.weights, next.m, next.v};
}

AdamW::AdamW(const nn::Module& model, AdamOptions options) : Adam(all_of(model), options, false) {}

AdamW::AdamW(std::vector<Group> groups, AdamOptions options)
    : Adam(std::move(groups), options, false) {}

Lion::Lion(const nn::Module& model, const LionOptions& options) : Lion(all_of(model), options) {}

Lion::Lion(std::vector<Group> groups, const LionOptions& options)
    : Optimizer(std::move(groups), options.weight_decay), options_(options) {
  remember("m");
}

std::vector<Tensor> Lion::rule(const Change& change) const {
  const Slot& slot = change.slot;
  const Tensor& p = slot.parameter.tensor;
  const Tensor& m = slot.memory[0].tensor;
  const Tensor& g = change.gradient;
  Tensor direction = sign(m * options_.beta1 + g * (1 - options_.beta1));
  if (slot.weight_decay != 0) direction = direction + p * slot.weight_decay;
  return {p - direction * change.rate, m * options_.beta2 + g * (1 - options_.beta2)};
}

}  // namespace weft::optim
