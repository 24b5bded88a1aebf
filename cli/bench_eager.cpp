#include "bench_eager.hpp"

#include <algorithm>
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

constexpr int steps = 60;
constexpr int first_steps = 5;  // These plan and compile.

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

/// The median time of a step on the host; the device is idle when one begins.
double host_seconds(const Device& device, const std::function<void()>& step) {
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    const double start = thread_seconds();
    step();
    const double took = thread_seconds() - start;
    device.synchronize();
    if (i >= first_steps) times.push_back(took);
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
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
  std::vector<Tensor> weights;
  for (const Shape& shape : {Shape{64, 128}, Shape{128, 128}, Shape{128, 10}}) {
    weights.push_back(variable(numbers.normal(shape) * 0.1));
    weights.push_back(variable(zeros(device, {shape[1]})));
  }
  const std::vector<Tensor> batch{numbers.normal({64, 64}), numbers.randint({64}, 0, 10)};
  for (const Tensor& tensor : batch) tensor.eval();
  StepCost cost;
  const auto eager = [&] {
    const Outputs outputs = train(batch, weights);
    apply(outputs.updates);
    outputs.values.front().eval();
  };
  cost.eager = host_seconds(device, eager);
  const graph::PlanCache& plans = *Access::data(device)->plans;
  const std::size_t before = plans.counts().launches;
  eager();
  cost.eager_launches = plans.counts().launches - before;
  const Compiled compiled =
      compile([&](const std::vector<Tensor>& inputs) { return train(inputs, weights); });
  cost.compiled = host_seconds(device, [&] { (void)compiled(batch); });
  cost.compiled_launches = compiled.report().dispatches;
  return cost;
}

}  // namespace weft::cli
