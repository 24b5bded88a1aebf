// A small transformer that learns a poem by heart, letter by letter, and then recites it.
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

/// Letters that look back at the ones before them: one transformer block between an embedding and
/// its transpose.
class Model : public weft::nn::Module {
 public:
  explicit Model(weft::nn::Init init)
      : embedding_(init, letters, width),
        block_(init, width, heads,
               {.attention = {.causal = true, .rope_base = 10000}, .rms = true}),
        norm_(init, width) {
    add("embedding", embedding_);
    add("block", block_);
    add("norm", norm_);
  }

  /// Logits [count × context, letters] of letters [count, context].
  Tensor forward(const Tensor& text) {
    const Tensor x = norm_(block_(embedding_(text)));
    return embedding_.as_linear(x.reshape({text.size(), width}));
  }

 private:
  weft::nn::Embedding embedding_;
  weft::nn::TransformerBlock block_;
  weft::nn::RMSNorm norm_;
};

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
  Model model(weft::nn::Init(device, 1));
  const weft::optim::AdamW optimizer(model, {.beta2 = 0.95});
  weft::optim::Step step(model, optimizer,
                         [&](const std::vector<Tensor>& in) {
                           return weft::cross_entropy(model.forward(in[0]),
                                                      in[1].reshape({in[1].size()}));
                         },
                         {.clip = 1});
  const weft::optim::Schedule rate{.lr = 1e-2, .steps = 300, .warmup = 10};
  std::mt19937 random(1);
  for (std::uint64_t i = 0; i < rate.steps; ++i) {
    std::vector<std::size_t> places(batch);
    for (std::size_t& place : places) place = random() % poem.size();
    std::vector<std::size_t> next = places;
    for (std::size_t& place : next) ++place;
    const Tensor loss = step({cut(device, places), cut(device, next)}, rate(i));
    if (i % 50 == 49) std::cout << std::format("step {:3}  loss {:.4f}\n", i + 1, loss.item());
  }

  // Keep the weights, load them into another model, and recite.
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "tyger.safetensors";
  model.save(file);
  Model loaded(weft::nn::Init(device, 2));
  loaded.load(file);
  std::filesystem::remove(file);
  const weft::Compiled next_letter =
      weft::compile([&](const std::vector<Tensor>& in) -> weft::Outputs {
        return weft::sample_tokens(loaded.forward(in[0]).slice(0, context - 1, 1), {},
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
        return weft::sample_tokens(loaded.forward(in[0]).slice(0, context - 1, 1), in[1],
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
