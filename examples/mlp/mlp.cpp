// Learns to tell the inside of a ring from its outside: a small network on points that are
// generated here.
#include <cmath>
#include <format>
#include <iostream>
#include <random>
#include <vector>
#include <weft/weft.hpp>

namespace {

struct Points {
  weft::Tensor places;  ///< [count, 2]
  weft::Tensor labels;  ///< [count] of 0 and 1
};

Points make_points(const weft::Device& device, std::uint64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> places;
  std::vector<std::int32_t> labels;
  for (std::uint64_t i = 0; i < count; ++i) {
    const float x = uniform(random);
    const float y = uniform(random);
    const float radius = std::hypot(x, y);
    places.insert(places.end(), {x, y});
    labels.push_back(radius > 0.4F && radius < 0.8F ? 1 : 0);
  }
  return {device.tensor({count, 2}, places), device.tensor({count}, labels)};
}

weft::Tensor make_weights(const weft::Device& device, const weft::Shape& shape,
                          std::mt19937& random) {
  std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(shape[0])));
  std::vector<float> values(shape[0] * shape[1]);
  for (float& value : values) value = normal(random);
  return weft::variable(device.tensor(shape, values));
}

weft::Tensor logits(const weft::Tensor& x, const std::vector<weft::Tensor>& p) {
  const weft::Tensor h = weft::relu(weft::matmul(x, p[0]) + p[1]);
  return weft::matmul(weft::relu(weft::matmul(h, p[2]) + p[3]), p[4]);
}

}  // namespace

int main() try {
  const weft::Device device;
  std::mt19937 random(1);
  const std::vector<weft::Tensor> p{
      make_weights(device, {2, 32}, random), weft::variable(device.full({32}, 0)),
      make_weights(device, {32, 32}, random), weft::variable(device.full({32}, 0)),
      make_weights(device, {32, 2}, random)};

  // Traced once, then replayed: the loss, its gradients and the updates of all weights. What
  // changes from step to step, such as the learning rate, is an input.
  const weft::Compiled step = weft::compile([&](const std::vector<weft::Tensor>& in) {
    const weft::Tensor loss = weft::cross_entropy(logits(in[0], p), in[1]);
    const std::vector<weft::Tensor> gradients = weft::grad(loss, p);
    std::vector<weft::Update> updates;
    for (std::size_t i = 0; i < p.size(); ++i) {
      updates.push_back({p[i], p[i] - gradients[i] * in[2]});
    }
    return weft::Outputs({loss}, updates);
  });
  constexpr int steps = 600;
  for (int i = 1; i <= steps; ++i) {
    const Points batch = make_points(device, 256, random);
    const weft::Tensor rate = device.full({}, 0.5 * (1 - static_cast<double>(i) / steps));
    const weft::Tensor loss = step.one({batch.places, batch.labels, rate});
    if (i % 100 == 0) std::cout << std::format("step {:4}  loss {:.4f}\n", i, loss.item());
  }

  const Points test = make_points(device, 2000, random);
  const weft::Tensor guess = weft::reduce("argmax", logits(test.places, p), {1});
  const weft::Tensor right = weft::map("equal", guess, test.labels).to(weft::DType::f32);
  const float share = weft::mean(right).item();
  std::cout << std::format("{:.1f}% of new points are told right\n", 100 * share);
  return share > 0.9F ? 0 : 1;
} catch (const weft::Error& error) {
  std::cerr << "mlp: " << error.what() << '\n';
  return 1;
}
