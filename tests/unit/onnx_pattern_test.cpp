#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx/pattern.hpp"

namespace weft::onnx {
namespace {

struct Row {
  std::string pattern;
  std::vector<std::string> described;
  std::vector<std::string> others;
};

TEST(OnnxPattern, DescribesWholeTexts) {
  const std::vector<Row> rows{
      {"", {""}, {"a"}},
      {"abc", {"abc"}, {"ab", "abcd", "", "ABC"}},
      {"a|bc|", {"a", "bc", ""}, {"ab", "c"}},
      {"(ab|c)*d", {"d", "abd", "ccabd"}, {"ad", "ab"}},
      {"(?:ab)+?", {"ab", "abab"}, {"", "aba"}},
      {"a{2}b{1,}c{0,2}", {"aab", "aabbbcc"}, {"ab", "aabccc"}},
      {"a{,2}", {"a{,2}"}, {"a", "aa"}},
      {"(a*)*", {"", "aaaa"}, {"b"}},
      {"x?y", {"y", "xy"}, {"xxy"}},
      {".", {"a", "\xC3\xA4", "\xE2\x82\xAC"}, {"", "\n", "ab"}},
      {"[a-c_]+", {"abc_"}, {"d", ""}},
      {"[^a-c]", {"d", "\n"}, {"a", ""}},
      {"[]a-]", {"]", "a", "-"}, {"b"}},
      {"[\\d\\-x]+", {"1-x"}, {"y"}},
      {"[\\D]", {"x"}, {"1"}},
      {R"(\d\D\w\W\s\S)", {"1a_- x"}, {"aaaaaa"}},
      {R"(\x41\x{20AC}\.\n)", {"A\xE2\x82\xAC.\n"}, {"A"}},
      {R"(www\.[\w.-]+\.\bcom\b)", {"www.google.com"}, {"www.facebook.co", "www.a.com."}},
      {R"(.*\bno\b.*)", {"no", "say no!"}, {"note"}},
      {R"(a\Bb)", {"ab"}, {"a b"}},
      {R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))",
       {"account@gmail.com", " a@yahoo.com."},
       {"account@hotmail.com", "not email"}},
      {"^a$", {"a"}, {"ab"}},
      {"a^b", {}, {"ab", "a^b"}},
  };
  for (const Row& row : rows) {
    const auto pattern = Pattern::parse(row.pattern);
    ASSERT_TRUE(pattern) << row.pattern << ": " << pattern.error().message;
    for (const auto& text : row.described)
      EXPECT_TRUE(pattern->matches(text)) << row.pattern << " " << text;
    for (const auto& text : row.others)
      EXPECT_FALSE(pattern->matches(text)) << row.pattern << " " << text;
  }
}

TEST(OnnxPattern, TakesNoTimeForWhatIsMeantToTakeLong) {
  const auto pattern = Pattern::parse("(a*)*(a|a)*(a?){50}a{50}b");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->matches(std::string(2000, 'a')));
  EXPECT_TRUE(pattern->matches(std::string(2000, 'a') + "b"));
}

TEST(OnnxPattern, RefusesWithASentence) {
  for (const char* text :
       {"(", ")", "a)", "[a", "*a", "a\\", "[b-a]", "(?i)a", "\\k", "\\x4", "a{1001}", "a{3,2}",
        "a**", "((a{100}){100}){100}", "[[:alpha:]]", "\\x{110000}"}) {
    const auto pattern = Pattern::parse(text);
    ASSERT_FALSE(pattern) << text;
    EXPECT_NE(pattern.error().message.find("pattern"), std::string::npos)
        << pattern.error().message;
  }
  EXPECT_FALSE(Pattern::parse(std::string(5000, '(') + std::string(5000, ')')));
}

}  // namespace
}  // namespace weft::onnx
