// Models as `weft train` exports them, in llama.cpp: it must see the same tokens and compute the same logits.
#include <gtest/gtest.h>
#include <llama.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "../unit/file_fixture.hpp"
#include "backends.hpp"
#include "formats/tokenizer.hpp"
#include "nn/export.hpp"
#include "nn/trainer.hpp"

namespace weft::test {
namespace {

using Model = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

constexpr std::string_view training_text =
    "Call me Ishmael. Some years ago - never mind how long precisely - having little or no money "
    "in my purse, and "
    "nothing particular to interest me on shore, I thought I would sail about a little and see the "
    "watery part of the "
    "world.\n\nIt is a way I have of driving off the spleen, and regulating the circulation. In "
    "1851, 1852 and 1853 "
    "there're whales; they're grim, it's damp, and I'll go.\n";

Tokenizer some_tokenizer() {
  std::string text;
  for (int i = 0; i < 4; ++i) text += training_text;
  auto tokenizer = Tokenizer::train(text, 400);
  EXPECT_TRUE(tokenizer);
  return *tokenizer;
}

nn::TrainerConfig some_config(const Tokenizer& tokenizer, bool tied) {
  nn::TrainerConfig config;
  config.model = {.vocabulary = tokenizer.size(),
                  .layers = 3,
                  .width = 64,
                  .heads = 4,
                  .kv_heads = 2,
                  .hidden = 96,
                  .context = 48,
                  .tied = tied};
  config.batch = 1;
  return config;
}

/// Weights that are large enough for every part of the model to matter.
nn::ModelValues some_values(const nn::Llama& model) {
  nn::ModelValues values{model.matrices().initial_values(5), model.vectors().initial_values(5)};
  for (float& value : values.matrices) value *= 6;
  for (std::size_t i = 0; i < values.vectors.size(); ++i) {
    values.vectors[i] += 0.3F * std::sin(static_cast<float>(i));
  }
  return values;
}

Model load(const std::filesystem::path& path) {
  static ggml_backend_dev_t none = nullptr;
  llama_model_params params = llama_model_default_params();
  params.devices = &none;
  params.n_gpu_layers = 0;
  Model model(llama_model_load_from_file(path.c_str(), params), llama_model_free);
  EXPECT_TRUE(model) << captured_log();
  return model;
}

std::vector<std::uint32_t> encode(const llama_vocab* vocabulary, const std::string& text) {
  std::vector<llama_token> tokens(text.size() + 8);
  const int count =
      llama_tokenize(vocabulary, text.data(), static_cast<std::int32_t>(text.size()), tokens.data(),
                     static_cast<std::int32_t>(tokens.size()), false, true);
  EXPECT_GE(count, 0);
  return {tokens.begin(), tokens.begin() + count};
}

/// The logits after the last token.
std::vector<float> logits_of(llama_model* model, std::span<const std::uint32_t> tokens) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 64;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  const Context context(llama_init_from_model(model, params), llama_free);
  if (!context) {
    ADD_FAILURE() << captured_log();
    return {};
  }
  std::vector<llama_token> batch(tokens.begin(), tokens.end());
  EXPECT_EQ(llama_decode(context.get(), llama_batch_get_one(
                                            batch.data(), static_cast<std::int32_t>(batch.size()))),
            0);
  const float* logits = llama_get_logits_ith(context.get(), -1);
  return {logits, logits + llama_vocab_n_tokens(llama_model_get_vocab(model))};
}

double nmse(const std::vector<float>& got, const std::vector<float>& wanted) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(static_cast<double>(got[i]) - wanted[i], 2);
    size += std::pow(static_cast<double>(wanted[i]), 2);
  }
  return error / size;
}

TEST(GgmlTokenizer, TokensAreTheSame) {
  load_backends();
  const TemporaryFolder folder;
  const Tokenizer tokenizer = some_tokenizer();
  const nn::Llama model(some_config(tokenizer, true).model);
  nn::export_gguf(folder / "m.gguf", model, some_values(model), tokenizer, "f32", "test");
  const Model loaded = load(folder / "m.gguf");
  ASSERT_TRUE(loaded);
  const llama_vocab* vocabulary = llama_model_get_vocab(loaded.get());
  EXPECT_EQ(llama_vocab_n_tokens(vocabulary), static_cast<int>(tokenizer.size()));
  const std::string texts[] = {
      std::string(training_text),
      "It's 12345 o'clock, they'LL say;  two  spaces,\ttabs\n\n\nand   lines   \n ",
      "Größe, naïve, 日本語の文, Ελλάδα, привет, 🙂👍🏽, \u00a0\u2003x",
      "(a+b)*c != \"d\"; $x->y[3] //...",
      "one<|endoftext|>two",
      " ",
      "'s't're",
  };
  for (const std::string& text : texts) {
    EXPECT_EQ(encode(vocabulary, text), tokenizer.encode(text, true)) << text;
  }
}

class GgmlExport : public testing::TestWithParam<std::string> {};

TEST_P(GgmlExport, LogitsAreTheSame) {
  load_backends();
  const TemporaryFolder folder;
  const Tokenizer tokenizer = some_tokenizer();
  const bool tied = GetParam() != "f16";
  const nn::TrainerConfig config = some_config(tokenizer, tied);
  nn::Trainer trainer(Device(), config);
  const nn::ModelValues values = some_values(trainer.model());
  trainer.restore("matrices", values.matrices);
  trainer.restore("vectors", values.vectors);
  nn::export_gguf(folder / "m.gguf", trainer.model(), values, tokenizer, GetParam(), "test");
  const Model loaded = load(folder / "m.gguf");
  ASSERT_TRUE(loaded);

  const double allowed = GetParam() == "f32" ? 1e-8 : GetParam() == "f16" ? 1e-5 : 3e-3;
  const auto tokens = tokenizer.encode(training_text);
  for (const std::size_t count : {1U, 7U, 48U}) {
    const auto part = std::span(tokens).first(count);
    const auto expected = logits_of(loaded.get(), part);
    const auto got = trainer.next_logits(part);
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_LE(nmse(got, expected), allowed) << count << " tokens";
  }
}

INSTANTIATE_TEST_SUITE_P(Types, GgmlExport, testing::Values("f32", "f16", "q8_0"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace weft::test
