#include "nn/optimizer.hpp"

#include <cmath>

#include "base/format.hpp"
#include "weft/device.hpp"
#include "weft/ops.hpp"

namespace weft::nn {
Optimizer::Optimizer(OptimizerOptions options, std::vector<Trained> trained) : options_(options) {
  const Device device = trained.at(0).variable.device();
  for (Trained& each : trained) {
    const Shape shape = each.variable.shape();
    const auto zeros = [&] { return variable(device.full(shape, 0)); };
    const bool squares = options.rule != OptimizerOptions::Rule::sgd;
    slots_.push_back({std::move(each), zeros(), squares ? zeros() : Tensor{}});
  }
  count_ = variable(device.full({1}, 0));
}

void Optimizer::descend(const Slot& slot, const Tensor& gradient, const Tensor& rate,
                        const Tensor& scale, std::vector<Update>& updates) const {
  const Tensor& p = slot.trained.variable;
  Tensor g = gradient.to(DType::f32);
  if (scale) g = g * scale;
  if (slot.trained.decay != 0) g = g + p * slot.trained.decay;
  const Tensor velocity = slot.first * options_.momentum + g;
  const Tensor next = p - velocity * rate;
  const Tensor fine = scale ? is_finite(scale) : Tensor{};
  const auto update = [&](const Tensor& target, const Tensor& value) {
    updates.push_back({target, fine ? where(fine, value, target) : value});
  };
  update(slot.first, velocity);
  update(p, next);
  if (slot.trained.working) update(slot.trained.working, next.to(slot.trained.working.dtype()));
}

std::vector<Update> Optimizer::step(const std::vector<Tensor>& gradients, const Tensor& rate,
                                    const Tensor& scale) const {
  std::vector<Update> updates;
  const Tensor count = count_ + 1.0;
  updates.push_back({count_, scale ? where(is_finite(scale), count, count_) : count});
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Tensor& working = slot.trained.working;
    if (options_.rule == OptimizerOptions::Rule::sgd) {
      descend(slot, gradients.at(i), rate, scale, updates);
      continue;
    }
    AdamWOptions options{.learning_rate = rate,
                         .beta1 = options_.beta1,
                         .beta2 = options_.beta2,
                         .eps = options_.epsilon,
                         .weight_decay = slot.trained.decay,
                         .coupled = options_.rule == OptimizerOptions::Rule::adam,
                         .scale = scale};
    if (working) options.working = working.dtype();
    const AdamWStep next =
        adamw(slot.trained.variable, gradients.at(i), slot.first, slot.second, count, options);
    updates.push_back({slot.trained.variable, next.weights});
    updates.push_back({slot.first, next.m});
    updates.push_back({slot.second, next.v});
    if (working) updates.push_back({working, next.working});
  }
  return updates;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> all{{"optimizer.count", count_}};
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    all.emplace_back(formatted("optimizer.{}.first", i), slots_[i].first);
    if (slots_[i].second) all.emplace_back(formatted("optimizer.{}.second", i), slots_[i].second);
  }
  return all;
}

Tensor is_finite(const Tensor& x) {
  return map("less", map("abs", x), x.device().full({1}, 3e38));  // false for infinity and NaN
}

LossScale::LossScale(const Device& device, double initial, double patience)
    : scale_(variable(device.full({1}, initial))),
      good_(variable(device.full({1}, 0))),
      patience_(patience) {}

std::vector<Update> LossScale::update(const Tensor& fine) const {
  const Tensor good = good_ + 1.0;
  const Tensor ripe = map("greater_equal", good, good.device().full({1}, patience_));
  // Bounded on both sides: 1 when gradients are not finite for another reason, 2²⁴ where nothing ever overflows.
  const Tensor grown = map("clamp", scale_ * 2.0, {1, 0x1p24});
  const Tensor shrunk = map("clamp", scale_ * 0.5, {1, 0x1p24});
  return {{scale_, where(fine, where(ripe, grown, scale_), shrunk)},
          {good_, where(fine, good * (1.0 - ripe), good_ * 0.0)}};
}

std::vector<std::pair<std::string, Tensor>> LossScale::state() const {
  return {{"scale.value", scale_}, {"scale.good", good_}};
}

}  // namespace weft::nn
