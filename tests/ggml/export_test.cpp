// Models as `weft train` exports them, in llama.cpp: it must see the same tokens and compute the
// same logits.
#include <gtest/gtest.h>
#include <llama.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../unit/file_fixture.hpp"
#include "backends.hpp"
#include "base/format.hpp"
#include "formats/tokenizer.hpp"
#include "formats/unicode_ranges.hpp"
#include "nn/export.hpp"
#include "nn/trainer.hpp"
#include "run_model.hpp"

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
nn::ModelValues some_values(const nn::LlamaConfig& config) {
  nn::ModelValues values = nn::initial_values(config, 5);
  for (const nn::ParameterInfo& info : nn::parameters_of(config)) {
    std::vector<float>& all = values.at(info.file);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = info.is_matrix() ? all[i] * 6 : all[i] + 0.3F * std::sin(static_cast<float>(i));
    }
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

TEST(GgmlTokenizer, TokensAreTheSame) {
  load_backends();
  const TemporaryFolder folder;
  const Tokenizer tokenizer = some_tokenizer();
  const nn::LlamaConfig model = some_config(tokenizer, true).model;
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

std::string utf8(std::uint32_t point) {
  if (point < 0x80) return {static_cast<char>(point)};
  const auto tail = [point](unsigned shift) {
    return static_cast<char>(0x80U | (point >> shift & 0x3fU));
  };
  if (point < 0x800) return {static_cast<char>(0xc0U | point >> 6U), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0U | point >> 12U), tail(6), tail(0)};
  return {static_cast<char>(0xf0U | point >> 18U), tail(12), tail(6), tail(0)};
}

/// A line for the ends of every run of code points, their neighbours, and some others: the
/// character behind a letter and behind a digit.
std::vector<std::string> character_lines() {
  std::vector<std::string> lines;
  const auto add = [&lines](std::uint32_t point) {
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (!surrogate) lines.push_back(formatted("x{0}x1{0}1\n", utf8(point)));
  };
  const auto add_ends = [&add](std::span<const unicode::Range> ranges) {
    for (const auto& [first, last] : ranges) {
      for (const std::uint32_t point : {first - 1, first, last, last + 1}) add(point);
    }
  };
  add_ends(unicode::letters);
  add_ends(unicode::numbers);
  add_ends(unicode::spaces);
  constexpr std::uint32_t after_all_letters = 0x40000;
  for (std::uint32_t point = 1; point < after_all_letters; point += 61) add(point);
  return lines;
}

/// The vocabulary has tokens of "x" or "1" with the first byte of the next character; they are
/// found where the two are in one piece only. So a character whose kind is another one here than
/// there gives other tokens.
TEST(GgmlTokenizer, CharactersHaveTheSameKinds) {
  load_backends();
  const std::vector<std::string> lines = character_lines();
  std::string text;
  for (const std::string& line : lines) text += line;
  const auto tokenizer = Tokenizer::train(text, 400);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const TemporaryFolder folder;
  const nn::LlamaConfig model = some_config(*tokenizer, true).model;
  nn::export_gguf(folder / "m.gguf", model, some_values(model), *tokenizer, "f32", "test");
  const Model loaded = load(folder / "m.gguf");
  ASSERT_TRUE(loaded);
  std::size_t joined = 0;
  for (const std::string& line : lines) {
    const std::vector<std::uint32_t> tokens = tokenizer->encode(line);
    ASSERT_EQ(encode(llama_model_get_vocab(loaded.get()), line), tokens) << line;
    joined += tokens.size() < line.size() ? 1U : 0U;
  }
  EXPECT_GT(joined, lines.size() / 4) << "the tokens do not depend on the pieces";
}

class GgmlExport : public testing::TestWithParam<std::string> {};

TEST_P(GgmlExport, LogitsAreTheSame) {
  load_backends();
  const TemporaryFolder folder;
  const Tokenizer tokenizer = some_tokenizer();
  const bool tied = GetParam() != "f16";
  const nn::TrainerConfig config = some_config(tokenizer, tied);
  nn::Trainer trainer(Device(), config);
  const nn::ModelValues values = some_values(config.model);
  trainer.set_values(values);
  nn::export_gguf(folder / "m.gguf", config.model, values, tokenizer, GetParam(), "test");
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
