#include "nn/trainer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/format.hpp"
#include "nn/modules/substitution.hpp"
#include "nn/random.hpp"
#include "nn/result.hpp"
#include "weft/grad.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

namespace {

TrainerConfig checked(TrainerConfig config) {
  if (!is_float(config.dtype) || config.batch == 0 || config.accumulate == 0 ||
      config.replicas == 0) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A step cannot take {} × {} × {} sequences and compute in {}.",
                          config.replicas, config.accumulate, config.batch, name(config.dtype)));
  }
  return config;
}

}  // namespace

Trainer::Trainer(const Device& device, const TrainerConfig& config)
    : device_(device),
      config_(checked(config)),
      model_(std::make_shared<Llama>(device, config.model, config.seed,
                                     static_cast<float>(config.dropout))),
      parameters_(model_->parameters()) {
  std::vector<optim::Group> groups;
  for (const Named& parameter : parameters_) {
    const bool matrix = parameter.tensor.shape().size() == 2;
    const bool rounded = matrix && config.dtype != DType::f32;
    optim::Group& group = groups.emplace_back(optim::Group{.parameters = {parameter}});
    if (!matrix) group.weight_decay = 0;
    computed_.push_back(rounded ? variable(parameter.tensor.to(config.dtype)) : parameter.tensor);
    if (rounded) group.working = {computed_.back()};
  }
  optimizer_ = std::make_shared<const optim::AdamW>(std::move(groups), config.optimizer);
  if (config.dtype == DType::f16) scale_.emplace(device_);
  if (in_parts()) {
    for (const Named& parameter : parameters_) {
      sums_.push_back(variable(device_.full(parameter.tensor.shape(), 0)));
    }
    sums_.push_back(variable(device_.full({1}, 0)));  // of the loss
  }
  compile_functions();
}

Trainer::Gradients Trainer::gradients(const Tensor& tokens, const Tensor& labels,
                                      const Tensor& seed) const {
  const Substitution now(*model_, computed_);
  model_->train();
  model_->set_key(seed);
  const Tensor loss =
      cross_entropy(model_->forward(tokens, config_.recompute), labels.reshape({labels.size()}))
          .reshape({1});
  const std::vector<Tensor> all = grad(scale_ ? loss * scale_->value() : loss, computed_);
  model_->set_key({});
  return {loss, all};
}

std::vector<Update> Trainer::learn(const std::vector<Tensor>& gradients, const Tensor& rate) const {
  // Gradients carry the factor of the loss scale and are sums over the batches of the step.
  Tensor too_large;
  if (in_parts()) too_large = device_.full({1}, batches_per_step());
  if (scale_) too_large = too_large ? too_large * scale_->value() : scale_->value();
  const Clip clip = clip_by_global_norm(gradients, static_cast<float>(config_.clip), too_large);
  std::vector<Update> updates = optimizer_->step(gradients, rate, clip.scale);
  if (scale_) {
    std::ranges::copy(scale_->step(clip.scale), std::back_inserter(updates));
  }
  return updates;
}

Tensor Trainer::logits(const Tensor& tokens) const {
  const Substitution now(*model_, computed_);
  model_->eval();
  return model_->forward(tokens);
}

void Trainer::compile_functions() {
  // The functions keep copies of this object's handles; the object itself may move.
  const auto self = std::make_shared<const Trainer>(*this);
  step_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    const Gradients g = self->gradients(in[0], in[1], in[2]);
    return {{g.loss}, self->learn(g.parameters, in[3])};
  });
  accumulate_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    Gradients g = self->gradients(in[0], in[1], in[2]);
    g.parameters.push_back(g.loss);
    std::vector<Update> updates;
    for (std::size_t i = 0; i < self->sums_.size(); ++i) {
      updates.push_back({self->sums_[i], self->sums_[i] + g.parameters[i].to(DType::f32)});
    }
    return {{g.loss}, std::move(updates)};
  });
  apply_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    const Tensor loss = self->sums_.back() / self->batches_per_step();
    std::vector<Update> updates = self->learn({self->sums_.begin(), self->sums_.end() - 1}, in[0]);
    for (const Tensor& sum : self->sums_) updates.push_back({sum, sum * 0.0});
    return {{loss}, std::move(updates)};
  });
  loss_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    return cross_entropy(self->logits(in[0]), in[1].reshape({in[1].size()})).reshape({1});
  });
  logits_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    return embedding(self->logits(in[0]), in[1]).to(DType::f32);
  });
}

Tensor Trainer::upload(const std::vector<std::int32_t>& values) const {
  const std::uint64_t context = config_.model.context;
  if (values.size() != config_.batch * context) {
    throw Error(ErrorCode::invalid_argument, formatted("A batch has {} × {} tokens; {} were given.",
                                                       config_.batch, context, values.size()));
  }
  return device_.tensor({config_.batch, context}, values);
}

Tensor Trainer::seed_of(std::uint64_t number) const {
  const std::uint64_t bits = Random(config_.seed, "dropout", number).next();
  return device_.tensor(
      {2}, std::vector{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)});
}

Tensor Trainer::step(std::span<const Batch> batches, double rate, std::uint64_t number) {
  if (batches.size() != config_.accumulate) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A step takes {} batches, not {}.", config_.accumulate, batches.size()));
  }
  const Tensor rate_tensor = device_.tensor({1}, std::vector{static_cast<float>(rate)});
  if (!in_parts()) {
    return step_.one(
        {upload(batches[0].tokens), upload(batches[0].labels), seed_of(number), rate_tensor});
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const Tensor seed =
        seed_of((number * config_.accumulate + i) * config_.replicas + config_.rank);
    (void)accumulate_({upload(batches[i].tokens), upload(batches[i].labels), seed});
  }
  if (config_.replicas > 1) sum_over_replicas();
  return apply_.one({rate_tensor});
}

void Trainer::sum_over_replicas() const {
  std::vector<float> all;
  for (const Tensor& sum : sums_) {
    std::ranges::copy(sum.to_vector(), std::back_inserter(all));
  }
  config_.sum_over_replicas(all);
  std::vector<Update> updates;
  auto next = all.begin();
  for (const Tensor& sum : sums_) {
    const auto end = next + static_cast<std::ptrdiff_t>(sum.size());
    updates.push_back({sum, device_.tensor(sum.shape(), std::vector(next, end))});
    next = end;
  }
  apply(updates);
}

float Trainer::loss(const Batch& batch) const {
  return loss_.one({upload(batch.tokens), upload(batch.labels)}).item();
}

std::vector<float> Trainer::next_logits(std::span<const std::uint32_t> tokens) const {
  const std::uint64_t context = config_.model.context;
  if (tokens.empty()) throw Error(ErrorCode::invalid_argument, "There is no token to go on from.");
  const auto seen = tokens.last(std::min<std::size_t>(tokens.size(), context));
  std::vector<std::int32_t> padded(
      context);  // what follows the last token does not change its logits
  std::ranges::transform(seen, padded.begin(), [](auto t) { return static_cast<std::int32_t>(t); });
  const auto row = static_cast<std::int32_t>(seen.size() - 1);
  return logits_.one({device_.tensor({1, context}, padded), device_.tensor({1}, std::vector{row})})
      .to_vector();
}

ModelValues Trainer::values() const {
  ModelValues out;
  const std::vector<ParameterInfo> infos = parameters_of(config_.model);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    out.emplace(infos[i].file, parameters_[i].tensor.to_vector());
  }
  return out;
}

void Trainer::set_values(const ModelValues& values) {
  for (const ParameterInfo& info : parameters_of(config_.model)) {
    restore("model." + info.name, values.at(info.file));
  }
}

std::vector<std::pair<std::string, Tensor>> Trainer::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const Named& each : parameters_) all.emplace_back("model." + each.name, each.tensor);
  for (const Named& each : optimizer_->state())
    all.emplace_back("optimizer." + each.name, each.tensor);
  if (!scale_) return all;
  for (const Named& each : scale_->state()) all.emplace_back("scale." + each.name, each.tensor);
  return all;
}

void Trainer::restore(const std::string& name, std::span<const float> values) {
  const auto all = state();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [key, tensor] = all[i];
    if (key != name) continue;
    if (tensor.size() != values.size()) {
      throw Error(ErrorCode::invalid_argument, formatted("'{}' has {} elements; {} were given.",
                                                         name, tensor.size(), values.size()));
    }
    const Tensor value = device_.tensor(tensor.shape(), std::vector(values.begin(), values.end()));
    std::vector<Update> updates{{tensor, value}};
    const bool rounded = i < computed_.size() && !computed_[i].is(tensor);
    if (rounded) updates.push_back({computed_[i], value.to(config_.dtype)});
    apply(updates);
    return;
  }
  throw Error(ErrorCode::not_found, formatted("A trainer has no state '{}'.", name));
}

CompileReport Trainer::report() const { return in_parts() ? accumulate_.report() : step_.report(); }

std::string Trainer::step_text() const { return in_parts() ? accumulate_.text() : step_.text(); }

}  // namespace weft::nn
