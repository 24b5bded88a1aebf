#include "bench_eager.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "graph/node.hpp"
#include "graph/plan_cache.hpp"
#include "weft/weft.hpp"

namespace weft::cli {
namespace {

constexpr int rounds = 12;
constexpr int steps = 8;  // in each round

/// The step as people write it: a loss, its gradients, and new weights.
Outputs train(const std::vector<Tensor>& batch, const std::vector<Tensor>& weights) {
  Tensor x = batch[0];
  for (std::size_t i = 0; i < weights.size(); i += 2) {
    x = matmul(x, weights[i]) + weights[i + 1];
    if (i + 2 < weights.size()) x = relu(x);
  }
  const Tensor loss = cross_entropy(x, batch[1]);
  const std::vector<Tensor> slopes = grad(loss, weights);
  std::vector<Update> updates;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    updates.push_back({weights[i], weights[i] - slopes[i] * 0.1});
  }
  return {{loss}, updates};
}

/// Seconds that this thread has had a processor for: what others do at the same time does not
/// count.
double thread_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The median times of two kinds of steps on the host; the device is idle when one begins. They
/// take turns, so that what else the machine does is the same for both.
std::array<double, 2> host_seconds(const Device& device,
                                   const std::array<std::function<void()>, 2>& kinds) {
  std::array<std::vector<double>, 2> times;
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      for (int i = 0; i < steps; ++i) {
        const double start = thread_seconds();
        kinds[kind]();
        const double took = thread_seconds() - start;
        device.synchronize();
        // The first round plans and compiles, and the first step of each one has cold caches.
        if (round > 0 && i > 0) times[kind].push_back(took);
      }
    }
  }
  std::array<double, 2> medians{};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto middle = times[kind].begin() + static_cast<std::ptrdiff_t>(times[kind].size() / 2);
    std::ranges::nth_element(times[kind], middle);
    medians[kind] = *middle;
  }
  return medians;
}

/// Blocks as narrow as can be: what they compute takes no time, and planning them as long as ever.
class Blocks : public nn::Module {
 public:
  explicit Blocks(nn::Init init) : embedding_(init, 32, width) {
    add("embedding", embedding_);
    for (int i = 0; i < 12; ++i) {
      blocks_.push_back(std::make_unique<nn::TransformerBlock>(
          init, width, 2,
          nn::BlockChoices{
              .attention = {.causal = true, .rope_base = 10000}, .gated = true, .rms = true}));
      add(std::to_string(i), *blocks_.back());
    }
  }
  Tensor loss(const std::vector<Tensor>& batch) {
    Tensor x = embedding_(batch[0]);
    for (const auto& block : blocks_) x = (*block)(x);
    return cross_entropy(embedding_.as_linear(x.reshape({-1, width})), batch[1].reshape({-1}));
  }

 private:
  static constexpr std::uint64_t width = 32;
  nn::Embedding embedding_;
  std::vector<std::unique_ptr<nn::TransformerBlock>> blocks_;
};

}  // namespace

PlanningCost measure_planning(const std::string& adapter) {
  const Device device({.adapter = adapter});
  Blocks model{nn::Init(device, 1)};
  const optim::AdamW optimizer(model);
  random::Generator numbers(device, 1);
  const std::vector<Tensor> batch{numbers.randint({1, 8}, 0, 32), numbers.randint({1, 8}, 0, 32)};
  for (const Tensor& tensor : batch) tensor.eval();
  PlanningCost cost{.seconds = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < 4; ++i) {  // the first compiles pipelines
    optim::Step step(model, optimizer,
                     [&](const std::vector<Tensor>& in) { return model.loss(in); }, {.clip = 1});
    device.synchronize();
    const double start = thread_seconds();
    const Tensor loss = step(batch, 1e-3);
    const double took = thread_seconds() - start;
    device.synchronize();
    if (i > 0) cost.seconds = std::min(cost.seconds, took);
    cost.launches = step.report().dispatches;
  }
  return cost;
}

StepCost measure_step(const std::string& adapter) {
  const Device device({.adapter = adapter});
  random::Generator numbers(device, 1);
  const auto start = [&] {
    std::vector<Tensor> weights;
    for (const Shape& shape : {Shape{64, 128}, Shape{128, 128}, Shape{128, 10}}) {
      weights.push_back(variable(numbers.normal(shape) * 0.1));
      weights.push_back(variable(zeros(device, {shape[1]})));
    }
    return weights;
  };
  // A recording knows its variables by heart, so each kind of step has its own.
  const std::vector<Tensor> mine = start();
  const std::vector<Tensor> recorded = start();
  const std::vector<Tensor> batch{numbers.normal({64, 64}), numbers.randint({64}, 0, 10)};
  for (const Tensor& tensor : batch) tensor.eval();
  const auto eager = [&] {
    const Outputs outputs = train(batch, mine);
    apply(outputs.updates);
    outputs.values.front().eval();
  };
  const Compiled compiled =
      compile([&](const std::vector<Tensor>& inputs) { return train(inputs, recorded); });
  const auto [of_eager, of_compiled] =
      host_seconds(device, {eager, [&] { (void)compiled(batch); }});
  StepCost cost{.eager = of_eager, .compiled = of_compiled};
  cost.compiled_launches = compiled.report().dispatches;
  const graph::PlanCache& plans = *Access::data(device)->plans;
  const std::size_t before = plans.counts().launches;
  eager();
  cost.eager_launches = plans.counts().launches - before;
  return cost;
}

}  // namespace weft::cli
