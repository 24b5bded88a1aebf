#include "nn/trainer.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "nn/random.hpp"
#include "nn/result.hpp"
#include "weft/grad.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

Trainer::Trainer(const Device& device, const TrainerConfig& config)
    : device_(device), config_(config), model_(config.model) {
  if (!is_float(config.dtype) || config.batch == 0 || config.accumulate == 0 ||
      config.replicas == 0) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A step cannot take {} × {} × {} sequences and compute in {}.",
                          config.replicas, config.accumulate, config.batch, name(config.dtype)));
  }
  const auto make = [&](const ParameterGroup& group) {
    return variable(device_.tensor({group.size()}, group.initial_values(config.seed)));
  };
  matrices_ = make(model_.matrices());
  vectors_ = make(model_.vectors());
  if (config.dtype != DType::f32) working_ = variable(matrices_.to(config.dtype));
  std::vector<optim::Group> groups{{.parameters = {{"matrices", matrices_}}},
                                   {.parameters = {{"vectors", vectors_}}, .weight_decay = 0}};
  if (working_) groups[0].working = {working_};
  optimizer_ = std::make_shared<const optim::AdamW>(std::move(groups), config.optimizer);
  if (config.dtype == DType::f16) scale_.emplace(device_);
  if (in_parts()) {
    matrix_sum_ = variable(device_.full({model_.matrices().size()}, 0));
    vector_sum_ = variable(device_.full({model_.vectors().size()}, 0));
    loss_sum_ = variable(device_.full({1}, 0));
  }
  compile_functions();
}

const Tensor& Trainer::computed_matrices() const { return working_ ? working_ : matrices_; }

Trainer::Gradients Trainer::gradients(const Tensor& tokens, const Tensor& labels,
                                      const Tensor& seed) const {
  const std::vector<Tensor> matrices = model_.matrices().views(computed_matrices());
  const std::vector<Tensor> vectors = model_.vectors().views(vectors_);
  const Tensor logits = model_.forward(
      tokens, matrices, vectors,
      {.drop = {static_cast<float>(config_.dropout), seed}, .recompute = config_.recompute});
  const Tensor loss = cross_entropy(logits, labels.reshape({labels.size()})).reshape({1});
  std::vector<Tensor> by = matrices;
  by.insert(by.end(), vectors.begin(), vectors.end());
  const std::vector<Tensor> all = grad(scale_ ? loss * scale_->value() : loss, by);
  const auto split = all.begin() + static_cast<std::ptrdiff_t>(matrices.size());
  return {loss, model_.matrices().join({all.begin(), split}),
          model_.vectors().join({split, all.end()})};
}

std::vector<Update> Trainer::learn(const Tensor& matrices, const Tensor& vectors,
                                   const Tensor& rate) const {
  // Gradients carry the factor of the loss scale and are sums over the batches of the step.
  Tensor too_large;
  if (in_parts()) too_large = device_.full({1}, batches_per_step());
  if (scale_) too_large = too_large ? too_large * scale_->value() : scale_->value();
  const Clip clip =
      clip_by_global_norm({matrices, vectors}, static_cast<float>(config_.clip), too_large);
  std::vector<Update> updates = optimizer_->step({matrices, vectors}, rate, clip.scale);
  if (scale_) {
    std::ranges::copy(scale_->step(clip.scale), std::back_inserter(updates));
  }
  return updates;
}

void Trainer::compile_functions() {
  // The functions keep copies of this object's handles; the object itself may move.
  const auto self = std::make_shared<const Trainer>(*this);
  step_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    const Gradients g = self->gradients(in[0], in[1], in[2]);
    return {{g.loss}, self->learn(g.matrices, g.vectors, in[3])};
  });
  accumulate_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    const Gradients g = self->gradients(in[0], in[1], in[2]);
    return {{g.loss},
            {{self->matrix_sum_, self->matrix_sum_ + g.matrices.to(DType::f32)},
             {self->vector_sum_, self->vector_sum_ + g.vectors},
             {self->loss_sum_, self->loss_sum_ + g.loss}}};
  });
  apply_ = compile([self](const std::vector<Tensor>& in) -> Outputs {
    std::vector<Update> updates = self->learn(self->matrix_sum_, self->vector_sum_, in[0]);
    for (const Tensor& sum : {self->matrix_sum_, self->vector_sum_, self->loss_sum_}) {
      updates.push_back({sum, sum * 0.0});
    }
    return {{self->loss_sum_ / self->batches_per_step()}, std::move(updates)};
  });
  const auto logits = [self](const Tensor& tokens) {
    return self->model_.forward(tokens, self->model_.matrices().views(self->computed_matrices()),
                                self->model_.vectors().views(self->vectors_));
  };
  loss_ = compile([logits](const std::vector<Tensor>& in) -> Outputs {
    return cross_entropy(logits(in[0]), in[1].reshape({in[1].size()})).reshape({1});
  });
  logits_ = compile([logits](const std::vector<Tensor>& in) -> Outputs {
    return embedding(logits(in[0]), in[1]).to(DType::f32);
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
  for (const Tensor& sum : {matrix_sum_, vector_sum_, loss_sum_}) {
    std::vector<float> values = sum.to_vector();
    config_.sum_over_replicas(values);
    apply({{sum, device_.tensor(sum.shape(), values)}});
  }
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

std::vector<std::pair<std::string, Tensor>> Trainer::state() const {
  std::vector<std::pair<std::string, Tensor>> all{{"matrices", matrices_}, {"vectors", vectors_}};
  for (const Named& each : optimizer_->state())
    all.emplace_back("optimizer." + each.name, each.tensor);
  if (!scale_) return all;
  for (const Named& each : scale_->state()) all.emplace_back("scale." + each.name, each.tensor);
  return all;
}

void Trainer::restore(const std::string& name, std::span<const float> values) {
  for (const auto& [key, tensor] : state()) {
    if (key != name) continue;
    if (tensor.size() != values.size()) {
      throw Error(ErrorCode::invalid_argument, formatted("'{}' has {} elements; {} were given.",
                                                         name, tensor.size(), values.size()));
    }
    apply({{tensor, device_.tensor(tensor.shape(), std::vector(values.begin(), values.end()))}});
    if (name == "matrices" && working_) apply({{working_, matrices_.to(config_.dtype)}});
    return;
  }
  throw Error(ErrorCode::not_found, formatted("A trainer has no state '{}'.", name));
}

CompileReport Trainer::report() const { return in_parts() ? accumulate_.report() : step_.report(); }

std::string Trainer::step_text() const { return in_parts() ? accumulate_.text() : step_.text(); }

}  // namespace weft::nn
