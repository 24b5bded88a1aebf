// The built-in model: what it says about a text through Weft and through llama.cpp's CPU backend.
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "backends.hpp"
#include "llama.h"

namespace weft::test {
namespace {

constexpr const char* text =
    "The captain of the ship was a man of great experience, and he had been at sea for many years "
    "before the voyage "
    "began. He walked slowly along the deck in the morning, looking at the water and at the sky, "
    "and said nothing to "
    "any one. The people of the United States have reason to be grateful for the peace which they "
    "enjoy, and for the "
    "prosperity of their commerce. Emma was very much surprised, but she could not help being "
    "pleased with the letter, "
    "and she read it a second time before she gave it to her father.";

/// The mean of -log p over the tokens of the text.
double mean_loss(ggml_backend_dev_t device) {
  std::vector<ggml_backend_dev_t> devices;
  if (device != nullptr) devices.push_back(device);
  devices.push_back(nullptr);
  llama_model_params model_params = llama_model_default_params();
  model_params.devices = devices.data();
  model_params.n_gpu_layers = device != nullptr ? 99 : 0;
  llama_model* model = llama_model_load_from_file(WEFT_BUILTIN_MODEL, model_params);
  if (model == nullptr) return NAN;
  llama_context_params context_params = llama_context_default_params();
  context_params.n_ctx = 512;
  llama_context* context = llama_init_from_model(model, context_params);
  const llama_vocab* vocabulary = llama_model_get_vocab(model);
  std::vector<llama_token> tokens(512);
  const std::string given = text;
  const int count = llama_tokenize(vocabulary, given.data(), static_cast<int>(given.size()),
                                   tokens.data(), static_cast<int>(tokens.size()), true, false);
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int i = 0; i < count; ++i) {
    batch.token[i] = tokens[static_cast<std::size_t>(i)];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  double loss = NAN;
  if (count > 50 && llama_decode(context, batch) == 0) {
    loss = 0;
    const auto size = static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary));
    for (int i = 0; i + 1 < count; ++i) {
      const std::span logits(llama_get_logits_ith(context, i), size);
      double sum = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      loss +=
          std::log(sum) - logits[static_cast<std::size_t>(tokens[static_cast<std::size_t>(i) + 1])];
    }
    loss /= count - 1;
  }
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
  return loss;
}

TEST(GgmlBuiltin, PerplexityIsThatOfTheCpu) {
  load_backends();
  const double cpu = std::exp(mean_loss(nullptr));
  const double weft = std::exp(mean_loss(ggml_backend_dev_by_name("WEFT0")));
  EXPECT_LT(cpu, 60) << "the model has not learnt English";
  EXPECT_NEAR(weft, cpu, 0.005 * cpu);
}

}  // namespace
}  // namespace weft::test
