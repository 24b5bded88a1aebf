#include "formats/tokenizer.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "formats/pretokenize.hpp"

namespace weft {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(Pretokenize, CutsAsDescribed) {
  EXPECT_EQ(pretokenize("Call me Ishmael."), (Pieces{"Call", " me", " Ishmael", "."}));
  EXPECT_EQ(pretokenize("it's we'll I'd'x'S"),
            (Pieces{"it", "'s", " we", "'ll", " I", "'d", "'", "x", "'", "S"}));
  EXPECT_EQ(pretokenize("a  b\n\nc \n"), (Pieces{"a", " ", " b", "\n", "\n", "c", " \n"}));
  EXPECT_EQ(pretokenize("in 1861, 3\xC2\xBD!? "),
            (Pieces{"in", " 1861", ",", " 3\xC2\xBD", "!?", " "}));
  EXPECT_EQ(pretokenize(" 's"), (Pieces{" '", "s"}));
  EXPECT_EQ(pretokenize("\t\tx"), (Pieces{"\t", "\t", "x"}));
  EXPECT_EQ(pretokenize("caf\xC3\xA9\xE2\x80\x94na\xC3\xAFve"),
            (Pieces{"caf\xC3\xA9", "\xE2\x80\x94", "na\xC3\xAFve"}));
  EXPECT_EQ(pretokenize("\xE3\x80\x80\xE3\x80\x80\xE6\xBC\xA2"),
            (Pieces{"\xE3\x80\x80", "\xE3\x80\x80", "\xE6\xBC\xA2"}));
  EXPECT_EQ(pretokenize("a\xFFz\xC3"), (Pieces{"a", "\xFF", "z", "\xC3"}));
  EXPECT_EQ(pretokenize(""), Pieces{});
}

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "the whale and the sea, the ship's captain sailed the seas again. ";
    if (i % 3 == 0) text += "There she blows! The whaler saw 42 whales.\n";
    if (i % 50 == 49) text += Tokenizer::end_of_text_mark;
  }
  return text;
}

/// The plain definition: in every round, count all pairs again and merge the best everywhere.
std::vector<std::string> naive_tokens(std::string_view text, std::uint32_t vocabulary) {
  std::vector<std::string> tokens{""};
  for (int i = 0; i < 256; ++i) tokens.emplace_back(1, static_cast<char>(i));
  std::vector<std::vector<std::uint32_t>> words;
  while (!text.empty()) {
    const std::size_t mark = std::min(text.find(Tokenizer::end_of_text_mark), text.size());
    for (const auto piece : pretokenize(text.substr(0, mark))) {
      auto& word = words.emplace_back();
      for (const char c : piece) word.push_back(1U + static_cast<std::uint8_t>(c));
    }
    text.remove_prefix(std::min(mark + Tokenizer::end_of_text_mark.size(), text.size()));
  }
  while (tokens.size() < vocabulary) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> counts;
    for (const auto& word : words) {
      for (std::size_t i = 1; i < word.size(); ++i) ++counts[{word[i - 1], word[i]}];
    }
    auto best = counts.begin();
    for (auto pair = counts.begin(); pair != counts.end(); ++pair) {
      if (pair->second > best->second) best = pair;
    }
    if (best == counts.end() || best->second < 2) break;
    const auto [left, right] = best->first;
    const std::string joined = tokens[left] + tokens[right];
    const auto known = std::ranges::find(tokens, joined);
    const auto result = static_cast<std::uint32_t>(known - tokens.begin());
    if (known == tokens.end()) tokens.push_back(joined);
    for (auto& word : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] == left && word[i + 1] == right) {
          word[i] = result;
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
    }
  }
  return tokens;
}

TEST(Tokenizer, LearnsWhatTheDefinitionSays) {
  const std::string text = sample_text();
  const auto tokenizer = Tokenizer::train(text, 320);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto expected = naive_tokens(text, 320);
  ASSERT_EQ(tokenizer->size(), expected.size());
  for (std::uint32_t i = 0; i < expected.size(); ++i) EXPECT_EQ(tokenizer->bytes(i), expected[i]);
}

TEST(Tokenizer, RandomLettersLearnWhatTheDefinitionSays) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {  // few letters: many ways to the same token
    std::string text;
    for (int i = 0; i < 400; ++i) text += "aab \n"[random() % 5];
    const auto tokenizer = Tokenizer::train(text, 300);
    ASSERT_TRUE(tokenizer);
    const auto expected = naive_tokens(text, 300);
    ASSERT_EQ(tokenizer->size(), expected.size());
    for (std::uint32_t i = 0; i < expected.size(); ++i) ASSERT_EQ(tokenizer->bytes(i), expected[i]);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(Tokenizer, KeepsAnyBytes) {
  const auto tokenizer = Tokenizer::train(sample_text(), 400);
  ASSERT_TRUE(tokenizer);
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string text;
    for (auto k = random() % 200; k > 0; --k) {
      text += random() % 3 == 0 ? std::string("the whale ")
                                : std::string(1, static_cast<char>(random()));
    }
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
  const std::string lengthy(300000, 'e');  // one piece; must not take quadratic time
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(lengthy)), lengthy);
}

TEST(Tokenizer, SeesMarksOnlyWhereAsked) {
  const auto tokenizer = Tokenizer::train(sample_text(), 300);
  ASSERT_TRUE(tokenizer);
  const std::string text = "a<|endoftext|>b";
  EXPECT_EQ(tokenizer->encode(text, true),
            (std::vector<std::uint32_t>{1 + 'a', Tokenizer::end_of_text, 1 + 'b'}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  EXPECT_EQ(tokenizer->decode(std::vector<std::uint32_t>{1 + 'x', 4000000}), "x");
}

TEST(Tokenizer, ComesBackFromMetadata) {
  const auto tokenizer = Tokenizer::train(sample_text(), 400);
  ASSERT_TRUE(tokenizer);
  gguf::Metadata metadata;
  tokenizer->add_to(metadata);
  const auto back = Tokenizer::from_metadata(metadata);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), tokenizer->size());
  const std::string text = sample_text();
  EXPECT_EQ(back->encode(text, true), tokenizer->encode(text, true));
  const auto texts = std::get<std::vector<std::string>>(
      std::get<gguf::Array>(*gguf::find(metadata, "tokenizer.ggml.tokens")));
  EXPECT_EQ(texts[1 + ' '], "\xC4\xA0");   // U+0120, as GPT-2 spells a space
  EXPECT_EQ(texts[1 + '\n'], "\xC4\x8A");  // U+010A
  EXPECT_EQ(texts[1 + 0x7f], "\xC4\xA1");  // U+0121
  EXPECT_EQ(texts[1 + 0xad], "\xC5\x83");  // U+0143, the last of the shifted ones
  EXPECT_EQ(texts[1 + 'a'], "a");

  auto broken = metadata;
  std::get<std::vector<std::string>>(std::get<gguf::Array>(broken[4].second)).front() = "nogap";
  EXPECT_FALSE(Tokenizer::from_metadata(broken));
  broken = metadata;
  std::get<std::vector<std::string>>(std::get<gguf::Array>(broken[2].second)).back() = "other";
  EXPECT_FALSE(Tokenizer::from_metadata(broken));
  EXPECT_FALSE(Tokenizer::from_metadata({}));
  EXPECT_FALSE(Tokenizer::train("text", 256));
}

}  // namespace
}  // namespace weft
