#include "nn/optimizer.hpp"

#include <cmath>
#include <format>

#include "weft/device.hpp"
#include "weft/ops.hpp"

namespace weft::nn {
namespace {

/// 1 - beta^count, the share of a running mean that its zero start does not take up.
Tensor warm_share(double beta, const Tensor& count) { return 1.0 - exp(count * std::log(beta)); }

}  // namespace

Optimizer::Optimizer(OptimizerOptions options, std::vector<Tensor> variables,
                     std::vector<double> decay)
    : options_(options) {
  const Device device = variables.at(0).device();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto zeros = [&] { return variable(device.full(variables[i].shape(), 0)); };
    const bool squares = options.rule != OptimizerOptions::Rule::sgd;
    slots_.push_back({variables[i], zeros(), squares ? zeros() : Tensor{}, decay.at(i)});
  }
  count_ = variable(device.full({1}, 0));
}

std::vector<Update> Optimizer::step(const std::vector<Tensor>& gradients, const Tensor& rate,
                                    const Tensor& apply) const {
  std::vector<Update> updates;
  const auto update = [&](const Tensor& target, const Tensor& value) {
    updates.push_back({target, apply ? where(apply, value, target) : value});
  };
  const Tensor count = count_ + 1.0;
  update(count_, count);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const Tensor& p = slot.variable;
    Tensor g = gradients.at(i);
    if (options_.rule != OptimizerOptions::Rule::adamw && slot.decay != 0) g = g + p * slot.decay;
    if (options_.rule == OptimizerOptions::Rule::sgd) {
      const Tensor velocity = slot.first * options_.momentum + g;
      update(slot.first, velocity);
      update(p, p - velocity * rate);
      continue;
    }
    const Tensor mean = slot.first * options_.beta1 + g * (1 - options_.beta1);
    const Tensor square = slot.second * options_.beta2 + g * g * (1 - options_.beta2);
    // The corrections for the zero start are single elements: fold them into the rate and the square root.
    const Tensor root = sqrt(square / warm_share(options_.beta2, count)) + options_.epsilon;
    Tensor change = mean / root * (rate / warm_share(options_.beta1, count));
    if (options_.rule == OptimizerOptions::Rule::adamw && slot.decay != 0) {
      change = change + p * (rate * slot.decay);
    }
    update(slot.first, mean);
    update(slot.second, square);
    update(p, p - change);
  }
  return updates;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> all{{"optimizer.count", count_}};
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    all.emplace_back(std::format("optimizer.{}.first", i), slots_[i].first);
    if (slots_[i].second) all.emplace_back(std::format("optimizer.{}.second", i), slots_[i].second);
  }
  return all;
}

Tensor global_norm(const std::vector<Tensor>& tensors) {
  Tensor total;
  for (const Tensor& tensor : tensors) {
    const Tensor squares = reduce("sum_squares", tensor).reshape({1});
    total = total ? total + squares : squares;
  }
  return sqrt(total);
}

Tensor clip_factor(const Tensor& norm, double most) {
  // A norm of 0 gives most / tiny, of which the clamp leaves 1.
  return map("clamp", map("reciprocal", norm + 1e-12) * most, {0, 1});
}

LossScale::LossScale(const Device& device, double initial, double patience)
    : scale_(variable(device.full({1}, initial))),
      good_(variable(device.full({1}, 0))),
      patience_(patience) {}

std::vector<Update> LossScale::update(const Tensor& fine) const {
  const Tensor good = good_ + 1.0;
  const Tensor ripe = map("ge", good, good.device().full({1}, patience_));
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
