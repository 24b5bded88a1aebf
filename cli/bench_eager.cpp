#include "bench_eager.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
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

/// The median time of a step on the host; the device is idle when one begins.
double host_seconds(const Device& device, const std::function<void()>& step) {
  std::vector<double> times;
  for (int i = 0; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    device.synchronize();
    if (i >= first_steps) times.push_back(took.count());
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace

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
