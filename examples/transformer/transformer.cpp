// A small transformer that learns a poem by heart, letter by letter, and then recites it.
#include <cmath>
#include <filesystem>
#include <format>
#include <iostream>
#include <random>
#include <string>
#include <vector>
#include <weft/weft.hpp>

namespace {

using weft::Tensor;

const std::string poem =
    "Tyger Tyger, burning bright, In the forests of the night; What immortal hand or eye, Could "
    "frame thy fearful symmetry? ";  // William Blake, 1794
constexpr std::uint64_t letters = 128, width = 32, heads = 2, context = 32, batch = 8;

/// The weights of a model with one layer.
struct Model {
  Tensor embedding, q, k, v, out, up, down;
  [[nodiscard]] std::vector<Tensor> all() const { return {embedding, q, k, v, out, up, down}; }
};

Model make_model(const weft::Device& device, std::mt19937& random) {
  const auto weights = [&](std::uint64_t rows, std::uint64_t columns) {
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(columns)));
    std::vector<float> values(rows * columns);
    for (float& value : values) value = normal(random);
    return weft::variable(device.tensor({rows, columns}, values));
  };
  return {weights(letters, width),  weights(width, width), weights(width, width),
          weights(width, width),    weights(width, width), weights(width, 4 * width),
          weights(4 * width, width)};
}

/// Logits [count × context, letters] of letters [count, context].
Tensor forward(const Model& m, const Tensor& text) {
  const std::uint64_t count = text.shape()[0];
  const auto split = [&](const Tensor& x) {
    return x.reshape({count, context, heads, width / heads});
  };
  Tensor x = weft::embedding(m.embedding, text.reshape({count * context}));
  const Tensor h = weft::rms_norm(x);
  const Tensor q = weft::rope(split(weft::matmul(h, m.q))).permute({0, 2, 1, 3});
  const Tensor k = weft::rope(split(weft::matmul(h, m.k))).permute({0, 2, 1, 3});
  const Tensor v = split(weft::matmul(h, m.v)).permute({0, 2, 1, 3});
  const Tensor seen = weft::attention(q, k, v, {.causal = true}).permute({0, 2, 1, 3});
  x = x + weft::matmul(seen.reshape({count * context, width}), m.out);
  x = x + weft::matmul(weft::silu(weft::matmul(weft::rms_norm(x), m.up)), m.down);
  return weft::matmul(weft::rms_norm(x), m.embedding.transpose());
}

/// Letters [1 or more, context] of the poem, which goes round, from some places on.
Tensor cut(const weft::Device& device, const std::vector<std::size_t>& places) {
  std::vector<std::int32_t> values;
  for (const std::size_t place : places) {
    for (std::size_t i = 0; i < context; ++i) values.push_back(poem[(place + i) % poem.size()]);
  }
  return device.tensor({places.size(), context}, values);
}

}  // namespace

int main() try {
  const weft::Device device;
  std::mt19937 random(1);
  const Model model = make_model(device, random);
  const std::vector<Tensor> weights = model.all();
  std::vector<Tensor> m;
  std::vector<Tensor> v;
  for (const Tensor& w : weights) {
    m.push_back(weft::variable(device.full(w.shape(), 0)));
    v.push_back(weft::variable(device.full(w.shape(), 0)));
  }

  // Inputs: letters, the letters that follow them, and the number of the step.
  const weft::Compiled step = weft::compile([&](const std::vector<Tensor>& in) {
    const Tensor labels = in[1].reshape({in[1].size()});
    const Tensor loss = weft::cross_entropy(forward(model, in[0]), labels);
    const std::vector<Tensor> gradients = weft::grad(loss, weights);
    const weft::Clip clip = weft::clip_by_global_norm(gradients, 1);
    std::vector<weft::Update> updates;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const weft::AdamWStep next =
          weft::adamw(weights[i], gradients[i], m[i], v[i], in[2],
                      {.lr = 5e-3, .beta2 = 0.95, .weight_decay = 0, .scale = clip.scale});
      updates.push_back({weights[i], next.weights});
      updates.push_back({m[i], next.m});
      updates.push_back({v[i], next.v});
    }
    return weft::Outputs({loss}, updates);
  });
  for (int i = 1; i <= 150; ++i) {
    std::vector<std::size_t> places(batch);
    for (std::size_t& place : places) place = random() % poem.size();
    std::vector<std::size_t> next = places;
    for (std::size_t& place : next) ++place;
    const Tensor loss = step.one({cut(device, places), cut(device, next), device.full({1}, i)});
    if (i % 30 == 0) std::cout << std::format("step {:3}  loss {:.4f}\n", i, loss.item());
  }

  // Keep the weights, load them again, and recite.
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tyger.safetensors";
  weft::save(file, {{{"embedding", model.embedding},
                     {"q", model.q},
                     {"k", model.k},
                     {"v", model.v},
                     {"out", model.out},
                     {"up", model.up},
                     {"down", model.down}},
                    {{"text", "The Tyger"}}});
  const auto w = weft::load(device, file).tensors;
  std::filesystem::remove(file);
  const Model loaded{w.at("embedding"), w.at("q"),  w.at("k"),   w.at("v"),
                     w.at("out"),       w.at("up"), w.at("down")};
  const weft::Compiled next_letter =
      weft::compile([&](const std::vector<Tensor>& in) -> weft::Outputs {
        return weft::sample_tokens(forward(loaded, in[0]).slice(0, context - 1, 1), {},
                                   {.temperature = 0});
      });
  std::string said = poem.substr(0, context);
  while (said.size() < poem.size()) {
    const std::string tail = said.substr(said.size() - context);
    const std::vector<std::int32_t> seen(tail.begin(), tail.end());
    said += static_cast<char>(
        next_letter.one({device.tensor({1, context}, seen)}).item<std::int32_t>());
  }
  std::cout << said << '\n';

  // The same model, but each letter is drawn from the likely ones.
  const weft::Compiled drawn_letter =
      weft::compile([&](const std::vector<Tensor>& in) -> weft::Outputs {
        return weft::sample_tokens(forward(loaded, in[0]).slice(0, context - 1, 1), in[1],
                                   {.temperature = 1.5, .top_k = 8, .top_p = 0.95});
      });
  std::string freely = poem.substr(0, context);
  while (freely.size() < context + 60) {
    const std::string tail = freely.substr(freely.size() - context);
    const std::vector<std::int32_t> seen(tail.begin(), tail.end());
    const Tensor key = weft::random::key(device, freely.size());
    freely += static_cast<char>(
        drawn_letter.one({device.tensor({1, context}, seen), key}).item<std::int32_t>());
  }
  std::cout << "freely: " << freely << '\n';
  return said == poem ? 0 : 1;
} catch (const weft::Error& error) {
  std::cerr << "transformer: " << error.what() << '\n';
  return 1;
}
