// Checkpoints that are whole, as their hashes say, and make no sense all the same.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"
#include "nn/checkpoint.hpp"

namespace weft::nn {
namespace {

std::string message_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::io || error.code() == ErrorCode::invalid_argument)
        << error.what();
    return error.what();
  }
  return "no error";
}

TEST(NnCheckpoint, WhatNoTrainingWritesIsRefused) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("weft-checkpoint-" + std::to_string(::getpid()) + ".gguf");
  TrainerConfig config;
  config.model = {.vocabulary = 260,
                  .layers = 1,
                  .width = 4,
                  .heads = 1,
                  .kv_heads = 1,
                  .hidden = 4,
                  .context = 4};
  config.batch = 1;
  Trainer trainer(Device(), config);
  const auto tokenizer = Tokenizer::train("the whale the whale the whale", 260);
  ASSERT_TRUE(tokenizer);
  save_checkpoint(path,
                  {.settings = "s",
                   .step = 5,
                   .seconds = 1.5,
                   .training = {{4, 2.0F}, {5, 1.5F}},
                   .validation = {{5, 2.5F}}},
                  *tokenizer, trainer);
  const auto original = gguf::File::open(path);
  ASSERT_TRUE(original);
  const std::filesystem::path changed = path.string() + ".changed";
  const auto write = [&](const auto& change) {
    gguf::Metadata metadata = original->metadata();
    std::erase_if(metadata, [](const auto& item) { return item.first.starts_with("weft.xxh3."); });
    std::vector<gguf::TensorView> tensors(original->tensors().begin(), original->tensors().end());
    change(metadata, tensors);
    gguf::add_hashes(metadata, tensors);
    ASSERT_TRUE(gguf::write(changed, metadata, tensors));
  };
  const auto set = [&](std::string_view key, gguf::Value value) {
    write([&](gguf::Metadata& metadata, const auto&) {
      for (auto& [name, old] : metadata) {
        if (name == key) old = std::move(value);
      }
    });
    return message_of([&] { (void)load_checkpoint_head(changed); });
  };
  write([](const auto&, const auto&) {});
  EXPECT_EQ(load_checkpoint_head(changed).progress.step, 5U);
  load_checkpoint(changed, trainer);

  using Steps = std::vector<std::uint64_t>;
  EXPECT_TRUE(set("weft.training.steps", gguf::Array(Steps{4, ~std::uint64_t{0}}))
                  .contains("saved after step 5, but loss 1 of 'weft.training' is that of step "
                            "18446744073709551615"));
  EXPECT_TRUE(set("weft.training.steps", gguf::Array(Steps{5, 4})).contains("of step 4"));
  EXPECT_TRUE(set("weft.training.steps", gguf::Array(Steps{4})).contains("1 steps but 2 losses"));
  EXPECT_TRUE(set("weft.validation.steps", gguf::Array(Steps{6})).contains("'weft.validation'"));
  EXPECT_TRUE(set("weft.step", std::uint64_t{3}).contains("saved after step 3"));
  for (const double seconds : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(set("weft.seconds", seconds).contains("says that its 5 steps took"));
  }
  // State of another size, of another type, and none.
  write([](const auto&, auto& tensors) {
    tensors[1].shape = {1};
    tensors[1].bytes = tensors[1].bytes.first(4);
  });
  EXPECT_TRUE(message_of([&] { load_checkpoint(changed, trainer); }).contains("1 were given"));
  write([](const auto&, auto& tensors) {
    tensors[0].shape = {tensors[0].bytes.size() / 2};
    tensors[0].type = *gguf::id_of(DType::f16);
  });
  EXPECT_TRUE(message_of([&] { load_checkpoint(changed, trainer); }).contains("in f32"));
  write([](const auto&, auto& tensors) { tensors.pop_back(); });
  EXPECT_TRUE(message_of([&] { load_checkpoint(changed, trainer); }).contains("lacks"));
  std::filesystem::remove(path);
  std::filesystem::remove(changed);
}

}  // namespace
}  // namespace weft::nn
