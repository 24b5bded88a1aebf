#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/format.hpp"
#include "weft/grad.hpp"
#include "weft/ops.hpp"
#include "weft/optim.hpp"

namespace weft::optim {

double Schedule::operator()(std::uint64_t step) const {
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (decay == Decay::constant) return lr;
  const std::uint64_t rest = steps > warmup ? steps - warmup : 1;
  const double progress =
      std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(rest));
  const double high =
      decay == Decay::linear ? 1 - progress : 0.5 + 0.5 * std::cos(std::numbers::pi * progress);
  return lr * (floor + (1 - floor) * high);
}

Ema::Ema(const nn::Module& model, double decay) : decay_(decay), parameters_(model.parameters()) {
  for (const nn::Named& each : parameters_) {
    averages_.push_back({each.name, variable(each.tensor)});
  }
}

std::vector<Update> Ema::step(const std::vector<Update>& updates) const {
  std::vector<Update> more;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    const auto changed = std::ranges::find_if(
        updates, [&](const Update& update) { return update.variable.is(parameter); });
    const Tensor now = changed != updates.end() ? changed->value : parameter;
    more.push_back({averages_[i].tensor, averages_[i].tensor * decay_ + now * (1 - decay_)});
  }
  return more;
}

Step::Step(nn::Module& model, const Optimizer& optimizer, Loss loss, const StepOptions& options)
    : seed_(options.seed) {
  step_ = compile([&model, &optimizer, loss = std::move(loss),
                   options](const std::vector<Tensor>& in) -> Outputs {
    // The batch, then the rate and the key of the step.
    const std::vector<Tensor> batch(in.begin(), in.end() - 2);
    const Tensor& rate = in[in.size() - 2];
    model.train();
    model.set_key(in.back());
    const Tensor value = loss(batch);
    if (value.size() != 1) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("The loss of a step has one element; this one has {}.", value.size()));
    }
    // With a loss scale, gradients come out that many times too large.
    const Tensor factor = options.loss_scale != nullptr ? options.loss_scale->value() : Tensor{};
    const std::vector<Tensor> gradients =
        grad(factor ? value.reshape({1}) * factor : value, optimizer.parameters());
    Tensor scale;
    if (options.clip > 0 || factor) {
      scale = clip_by_global_norm(gradients, static_cast<float>(options.clip), factor).scale;
    }
    std::vector<Update> updates = optimizer.step(gradients, rate, scale);
    if (factor) std::ranges::copy(options.loss_scale->step(scale), std::back_inserter(updates));
    std::ranges::copy(model.take_updates(), std::back_inserter(updates));
    if (options.ema != nullptr) {
      std::ranges::copy(options.ema->step(updates), std::back_inserter(updates));
    }
    model.set_key({});
    return {{value}, std::move(updates)};
  });
}

Tensor Step::operator()(std::vector<Tensor> batch, double rate) {
  if (batch.empty()) throw Error(ErrorCode::invalid_argument, "A step needs a batch of tensors.");
  const Device device = batch.front().device();
  batch.push_back(device.tensor({1}, {static_cast<float>(rate)}));
  batch.push_back(random::Key(seed_).fold_in(count_++).on(device));
  return step_.one(batch);
}

}  // namespace weft::optim
