#include "weft/c/optim.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/nn/modules.hpp"
#include "capi/part.hpp"
#include "weft/optim.hpp"

namespace weft::capi {
namespace {

struct OptimizerObject {
  using Handle = weft_optimizer;
  static constexpr Kind kind = Kind::optimizer;
  std::shared_ptr<optim::Optimizer> optimizer;
  std::shared_ptr<nn::Layer> layer;
};

struct EmaObject {
  using Handle = weft_ema;
  static constexpr Kind kind = Kind::ema;
  std::shared_ptr<optim::Ema> ema;
  std::shared_ptr<nn::Layer> layer;
};

struct StepObject {
  using Handle = weft_step;
  static constexpr Kind kind = Kind::step;
  std::shared_ptr<nn::Layer> layer;
  std::shared_ptr<optim::Optimizer> optimizer;
  std::shared_ptr<optim::Ema> ema;
  std::shared_ptr<optim::LossScale> scale;
  std::shared_ptr<optim::Step> step;
  std::shared_ptr<std::mutex> mutex;  ///< One step at a time.
};

double or_default(double value, double otherwise) { return value == 0 ? otherwise : value; }

/// The parameters of a module in groups: each in the first whose text its name contains, the others
/// in one of their own.
std::vector<optim::Group> groups_of(const nn::Module& module,
                                    const weft_optimizer_options& options) {
  std::vector<optim::Group> out(1);
  std::vector<std::string> texts;
  if (options.group_count > 0) required(options.groups, "options.groups");
  for (std::uint32_t i = 0; i < options.group_count; ++i) {
    const weft_parameter_group& group = options.groups[i];
    texts.emplace_back(required(group.contains, formatted("options.groups[{}].contains", i)));
    out.push_back({.lr_scale = group.lr_scale, .weight_decay = group.weight_decay});
  }
  for (const nn::Named& named : module.parameters()) {
    const auto fits = std::ranges::find_if(
        texts, [&](const std::string& text) { return named.name.contains(text); });
    const std::size_t place =
        fits == texts.end() ? 0 : 1 + static_cast<std::size_t>(fits - texts.begin());
    out[place].parameters.push_back(named);
  }
  return out;
}

template <class Make>
weft_status make_optimizer(const char* function, weft_module module,
                           const weft_optimizer_options* options, weft_optimizer* optimizer,
                           const Make& make) {
  return call(function, [&] {
    weft_optimizer& out = result(optimizer, "optimizer");
    const auto object = get<ModuleObject>(module, "module");
    const weft_optimizer_options given = options == nullptr ? weft_optimizer_options{} : *options;
    std::vector<optim::Group> groups = groups_of(*object->layer, given);
    out = put(OptimizerObject{make(std::move(groups), given), object->layer});
  });
}

optim::AdamOptions adam_of(const weft_optimizer_options& given) {
  return {.beta1 = or_default(given.beta1, 0.9),
          .beta2 = or_default(given.beta2, 0.999),
          .eps = or_default(given.eps, 1e-8),
          .weight_decay = given.weight_decay};
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_optimizer_sgd(weft_module module, const weft_optimizer_options* options,
                               weft_optimizer* optimizer) {
  return make_optimizer(__func__, module, options, optimizer,
                        [](std::vector<optim::Group> groups, const weft_optimizer_options& given) {
                          return std::make_shared<optim::SGD>(
                              std::move(groups),
                              optim::SGDOptions{.momentum = given.momentum,
                                                .weight_decay = given.weight_decay,
                                                .nesterov = given.nesterov});
                        });
}

weft_status weft_optimizer_adam(weft_module module, const weft_optimizer_options* options,
                                weft_optimizer* optimizer) {
  return make_optimizer(__func__, module, options, optimizer,
                        [](std::vector<optim::Group> groups, const weft_optimizer_options& given) {
                          return std::make_shared<optim::Adam>(std::move(groups), adam_of(given));
                        });
}

weft_status weft_optimizer_adamw(weft_module module, const weft_optimizer_options* options,
                                 weft_optimizer* optimizer) {
  return make_optimizer(__func__, module, options, optimizer,
                        [](std::vector<optim::Group> groups, const weft_optimizer_options& given) {
                          return std::make_shared<optim::AdamW>(std::move(groups), adam_of(given));
                        });
}

weft_status weft_optimizer_lion(weft_module module, const weft_optimizer_options* options,
                                weft_optimizer* optimizer) {
  return make_optimizer(__func__, module, options, optimizer,
                        [](std::vector<optim::Group> groups, const weft_optimizer_options& given) {
                          return std::make_shared<optim::Lion>(
                              std::move(groups),
                              optim::LionOptions{.beta1 = or_default(given.beta1, 0.9),
                                                 .beta2 = or_default(given.beta2, 0.99),
                                                 .weight_decay = given.weight_decay});
                        });
}

weft_status weft_optimizer_free(weft_optimizer optimizer) {
  return call(__func__, [&] { drop<OptimizerObject>(optimizer, "optimizer"); });
}

weft_status weft_optimizer_parameters(weft_optimizer optimizer, weft_tensor* parameters,
                                      uint32_t capacity, uint32_t* count) {
  return call(__func__, [&] {
    const auto object = get<OptimizerObject>(optimizer, "optimizer");
    const std::vector<Tensor> all = object->optimizer->parameters();
    *required(count, "count") = static_cast<std::uint32_t>(all.size());
    if (capacity == 0) return;
    if (capacity < all.size()) {
      raise(ErrorCode::invalid_argument, "`capacity` is {}, but there are {} parameters.", capacity,
            all.size());
    }
    put_all(all, required(parameters, "parameters"));
  });
}

weft_status weft_optimizer_apply(weft_optimizer optimizer, const weft_tensor* gradients,
                                 uint32_t count, double rate) {
  return call(__func__, [&] {
    const auto object = get<OptimizerObject>(optimizer, "optimizer");
    const std::vector<Tensor> given = tensors_of(gradients, count, "gradients");
    const std::size_t wanted = object->optimizer->parameters().size();
    if (given.size() != wanted) {
      raise(ErrorCode::invalid_argument, "{} gradients were given for {} parameters.", given.size(),
            wanted);
    }
    if (given.empty()) return;
    const auto lock = lock_values(given.front());
    object->optimizer->apply(given, rate);
  });
}

weft_status weft_optimizer_state(weft_optimizer optimizer, weft_receiver receiver, void* context) {
  return call(__func__, [&] {
    give(get<OptimizerObject>(optimizer, "optimizer")->optimizer->state(), receiver, context);
  });
}

weft_status weft_optimizer_load_state(weft_optimizer optimizer, const char* const* names,
                                      const weft_tensor* tensors, uint32_t count) {
  return call(__func__, [&] {
    const auto object = get<OptimizerObject>(optimizer, "optimizer");
    object->optimizer->load_state(named_tensors(names, tensors, count));
  });
}

weft_status weft_optimizer_keep(weft_optimizer optimizer) {
  return call(__func__, [&] { get<OptimizerObject>(optimizer, "optimizer")->optimizer->keep(); });
}

weft_status weft_schedule_rate(const weft_schedule* schedule, uint64_t step, double* rate) {
  return call(__func__, [&] {
    const weft_schedule& given = *required(schedule, "schedule");
    if (given.decay < WEFT_DECAY_CONSTANT || given.decay > WEFT_DECAY_COSINE) {
      raise(ErrorCode::invalid_argument, "`schedule.decay` is {}; it must be one of 0 to 2.",
            given.decay);
    }
    const optim::Schedule made{.lr = given.lr,
                               .steps = given.steps,
                               .warmup = given.warmup,
                               .decay = static_cast<optim::Decay>(given.decay),
                               .floor = given.floor};
    *required(rate, "rate") = made(step);
  });
}

weft_status weft_ema_create(weft_module module, double decay, weft_ema* ema) {
  return call(__func__, [&] {
    weft_ema& out = result(ema, "ema");
    const auto object = get<ModuleObject>(module, "module");
    if (!(decay >= 0 && decay <= 1)) {
      raise(ErrorCode::invalid_argument, "`decay` is {}; it must be from 0 to 1.", decay);
    }
    out = put(EmaObject{std::make_shared<optim::Ema>(*object->layer, decay), object->layer});
  });
}

weft_status weft_ema_averages(weft_ema ema, weft_receiver receiver, void* context) {
  return call(__func__,
              [&] { give(get<EmaObject>(ema, "ema")->ema->averages(), receiver, context); });
}

weft_status weft_ema_free(weft_ema ema) {
  return call(__func__, [&] { drop<EmaObject>(ema, "ema"); });
}

weft_status weft_step_create(weft_module module, weft_optimizer optimizer, weft_part loss,
                             void* context, const weft_step_options* options, weft_step* step) {
  return call(__func__, [&] {
    weft_step& out = result(step, "step");
    const auto model = get<ModuleObject>(module, "module");
    const auto rule = get<OptimizerObject>(optimizer, "optimizer");
    if (loss == nullptr) raise(ErrorCode::invalid_argument, "`loss` is NULL.");
    StepObject made{model->layer, rule->optimizer, {}, {}, {}, std::make_shared<std::mutex>()};
    optim::StepOptions choices;
    if (options != nullptr) {
      choices.clip = options->clip;
      choices.seed = options->seed;
      if (options->ema != nullptr) made.ema = get<EmaObject>(options->ema, "options.ema")->ema;
      choices.ema = made.ema.get();
      if (!(options->loss_scale >= 0) || std::isinf(options->loss_scale)) {
        raise(ErrorCode::invalid_argument,
              "`options.loss_scale` is {}; it must be a number from 0 on.", options->loss_scale);
      }
      if (options->loss_scale > 0) {
        made.scale = std::make_shared<optim::LossScale>(
            rule->optimizer->parameters().front().device(), options->loss_scale);
        choices.loss_scale = made.scale.get();
      }
    }
    made.step = std::make_shared<optim::Step>(
        *model->layer, *rule->optimizer,
        [loss, context](const std::vector<Tensor>& batch) {
          return run_part(loss, context, batch, "The loss");
        },
        choices);
    out = put(std::move(made));
  });
}

weft_status weft_step_run(weft_step step, const weft_tensor* batch, uint32_t count, double rate,
                          weft_tensor* loss) {
  return call(__func__, [&] {
    weft_tensor& out = result(loss, "loss");
    const auto object = get<StepObject>(step, "step");
    std::vector<Tensor> given = tensors_of(batch, count, "batch");
    if (given.empty()) raise(ErrorCode::invalid_argument, "`batch` has no tensors.");
    const std::lock_guard turn(*object->mutex);
    out = put(TensorObject{(*object->step)(std::move(given), rate)});
  });
}

weft_status weft_step_get_count(weft_step step, uint32_t* count) {
  return call(__func__,
              [&] { *required(count, "count") = get<StepObject>(step, "step")->step->count(); });
}

weft_status weft_step_set_count(weft_step step, uint32_t count) {
  return call(__func__, [&] { get<StepObject>(step, "step")->step->set_count(count); });
}

weft_status weft_step_free(weft_step step) {
  return call(__func__, [&] { drop<StepObject>(step, "step"); });
}
