// The reader of JSON against the JSON library of the tests.
#include "base/json.hpp"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/utf8.hpp"

namespace weft::json {
namespace {

bool whole(std::string_view text) {
  Reader reader(text);
  return reader.skip() && reader.next() == '\0';
}

/// The value that comes next as the library has it; only what the reader gives, null for the rest.
nlohmann::json take(Reader& reader) {
  nlohmann::json out;
  switch (reader.next()) {
    case '{':
      out = nlohmann::json::object();
      EXPECT_TRUE(reader.object([&](const std::string& name) {
        out[name] = take(reader);
        return true;
      }));
      break;
    case '[':
      out = nlohmann::json::array();
      EXPECT_TRUE(reader.array([&] {
        out.push_back(take(reader));
        return true;
      }));
      break;
    case '"': out = reader.text().value_or("?"); break;
    default:
      if (const auto number = reader.number()) {
        out = *number;
      } else {
        EXPECT_TRUE(reader.skip());
      }
  }
  return out;
}

/// The same with null in the place of what the reader does not give.
nlohmann::json known_part(const nlohmann::json& value) {
  if (value.is_structured()) {
    nlohmann::json out = value;
    for (auto& one : out) one = known_part(one);
    return out;
  }
  return value.is_string() || value.is_number_unsigned() ? value : nlohmann::json();
}

TEST(Json, TakesAndRefusesWhatTheLibraryDoes) {
  constexpr std::array pieces{"{",
                              "}",
                              "[",
                              "]",
                              ",",
                              ":",
                              "\"a\"",
                              "\"b\"",
                              "\"\\u00e4\\n\"",
                              "0",
                              "-1",
                              "17",
                              "2.5e-3",
                              "1.",
                              "01",
                              "true",
                              "null",
                              "fals",
                              "\"\\x\"",
                              "\"\\ud83d\\ude00\"",
                              "\"\\udc00\"",
                              "\"\x01\"",
                              "\"\xff\"",
                              " ",
                              "\t",
                              "18446744073709551615",
                              "18446744073709551616",
                              "\"unfinished",
                              "[1E+5]"};
  std::mt19937_64 random(20261119);
  int taken = 0;
  int refused = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (std::size_t count = 1 + random() % 9; count > 0; --count) {
      text += pieces.at(random() % pieces.size());
    }
    const auto value = nlohmann::json::parse(text, nullptr, false);
    Reader reader(text);
    const bool good = reader.skip() && reader.next() == '\0';
    if (!reader.twice().empty()) continue;
    ASSERT_EQ(good, !value.is_discarded()) << text;
    (good ? taken : refused) += 1;
    if (!good) continue;
    Reader again(text);
    ASSERT_EQ(take(again), known_part(value)) << text;
    ASSERT_EQ(again.next(), '\0') << text;
  }
  EXPECT_GT(taken, 10'000);
  EXPECT_GT(refused, 10'000);
}

TEST(Json, EndsWhereATextIsCutOff) {
  const std::string text = R"({"a\u00e4":[1,{"b":null,"c":"\ud83d\ude00"}],"d":-2.5e3})";
  ASSERT_TRUE(whole(text));
  for (std::size_t i = 0; i < text.size(); ++i) EXPECT_FALSE(whole(text.substr(0, i))) << i;
  EXPECT_FALSE(whole(text + "}"));
}

TEST(Json, KnowsNamesThatAreThereTwiceAndEndsInTheDeep) {
  Reader twice(R"({"a":1,"b":[{"c":1,"d":2,"\u0063":3}]})");
  EXPECT_FALSE(twice.skip());
  EXPECT_EQ(twice.twice(), "c");
  const auto nested = [](std::size_t deep) {
    return std::string(deep, '[') + std::string(deep, ']');
  };
  EXPECT_TRUE(whole(nested(64)));
  EXPECT_FALSE(whole(nested(65)));
  EXPECT_FALSE(whole(std::string(1 << 20, '[')));
}

TEST(Json, QuotesWhatTheLibraryReads) {
  std::string all;
  for (int byte = 0; byte < 128; ++byte) all += static_cast<char>(byte);
  all += "ä€😀";
  EXPECT_EQ(nlohmann::json::parse(json::quoted(all)).get<std::string>(), all);
  EXPECT_EQ(Reader(json::quoted(all)).text(), all);
  EXPECT_EQ(json::quoted("a\xff/\xc3"), "\"a?/?\"");
  EXPECT_TRUE(is_utf8(all));
  EXPECT_FALSE(is_utf8("a\xff"));
}

}  // namespace
}  // namespace weft::json
