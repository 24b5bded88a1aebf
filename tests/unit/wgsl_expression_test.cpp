#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/format.hpp"
#include "wgsl_expand.hpp"

namespace weft::wgsl {
namespace {

/// The value of an expression as text.
std::string value(std::string_view expression, const Constants& constants = {}) {
  std::string text = expanded(formatted("{{{{{}}}}}", expression), constants);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// What the error of a bad expression says behind its position.
std::string complaint(std::string_view expression, const Constants& constants = {}) {
  const std::string text = value(expression, constants);
  const std::string_view front = "ERROR main.wgsl:1: in {{…}}: ";
  EXPECT_TRUE(text.starts_with(front)) << text;
  return text.substr(std::min(front.size(), text.size()));
}

TEST(WgslExpression, ComputesIntegers) {
  EXPECT_EQ(value("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(value("(1 + 2) * 3"), "9");
  EXPECT_EQ(value("20 / 3 % 4"), "2");
  EXPECT_EQ(value("-7 / 2"), "-3");
  EXPECT_EQ(value("-7 % 3"), "-1");
  EXPECT_EQ(value("10 - 3 - 2"), "5");
  EXPECT_EQ(value("--3"), "3");
  EXPECT_EQ(value("0xff"), "255");
  EXPECT_EQ(value("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(value("min(3, 5) + max(3, 5) * 10"), "53");
  EXPECT_EQ(value("min(4, 2, 9)"), "2");
  EXPECT_EQ(value("min", {{"min", std::int64_t{7}}}), "7");
}

TEST(WgslExpression, ComparesAndDecides) {
  EXPECT_EQ(value("1 < 2"), "1");
  EXPECT_EQ(value("2 <= 1"), "0");
  EXPECT_EQ(value("2 <= 2"), "1");
  EXPECT_EQ(value("2 >= 3"), "0");
  EXPECT_EQ(value("3 > 2"), "1");
  EXPECT_EQ(value("2 > 2"), "0");
  EXPECT_EQ(value("1 + 1 == 2"), "1");
  EXPECT_EQ(value("1 != 1"), "0");
  EXPECT_EQ(value("!0"), "1");
  EXPECT_EQ(value("!5"), "0");
  EXPECT_EQ(value("2 && 3"), "1");
  EXPECT_EQ(value("0 || 7"), "1");
  EXPECT_EQ(value("1 || 0 && 0"), "1");
  EXPECT_EQ(value("1 == 2 || 3 > 2 && 1"), "1");
  EXPECT_EQ(value("1 ? 2 : 3"), "2");
  EXPECT_EQ(value("0 ? 2 : 0 ? 4 : 5"), "5");
}

TEST(WgslExpression, UsesStrings) {
  const Constants names{{"T", "f16"}, {"N", std::int64_t{4}}};
  EXPECT_EQ(value("T == \"f16\"", names), "1");
  EXPECT_EQ(value("T != \"f16\"", names), "0");
  EXPECT_EQ(value("\"vec\" + N + \"<\" + T + \">\"", names), "vec4<f16>");
  EXPECT_EQ(value("N + \"x\"", names), "4x");
  EXPECT_EQ(value("\"a{{N + 1}}b{{T}}\"", names), "a5bf16");
  EXPECT_EQ(value(R"("q\"b\\n\n\{{")"), "q\"b\\n\n{{");
  EXPECT_EQ(value("N == 4 ? T : \"f32\"", names), "f16");
}

TEST(WgslExpression, IgnoresTheSideThatIsNotNeeded) {
  EXPECT_EQ(value("0 && UNKNOWN"), "0");
  EXPECT_EQ(value("1 || 1 / 0 > UNKNOWN"), "1");
  EXPECT_EQ(value("defined(A) ? A : 3"), "3");
  EXPECT_EQ(value("defined(A) ? A : 3", {{"A", std::int64_t{8}}}), "8");
  EXPECT_EQ(value("1 ? 2 : min(A, -\"x\") + \"{{A}}\""), "2");
  EXPECT_EQ(value("0 && (A == \"x\" || !B)"), "0");
  EXPECT_EQ(complaint("0 && (1 + )"), "expected a value, found `)`");
}

TEST(WgslExpression, ExplainsMistakes) {
  EXPECT_EQ(complaint(""), "expected a value, found `}`");
  EXPECT_EQ(complaint("1 +"), "expected a value, found `}`");
  EXPECT_EQ(complaint("(1"), "expected `)`, found `}`");
  EXPECT_EQ(complaint("1 2"), "expected `}}`, found `2`");
  EXPECT_EQ(complaint("0 < 1 < 2"), "expected `}}`, found `<`");
  EXPECT_EQ(complaint("1 & 2"), "expected `}}`, found `&`");
  EXPECT_EQ(complaint("1.5"), "expected `}}`, found `.`");
  EXPECT_EQ(complaint("ä"), "expected a value, found `ä`");
  EXPECT_EQ(complaint("4u"), "`4u` is not an integer");
  EXPECT_EQ(complaint("0x"), "`0x` is not an integer");
  EXPECT_EQ(complaint("1 ? 2"), "expected `:`, found `}`");
  EXPECT_EQ(complaint("min(1)"), "expected `,`, found `)`");
  EXPECT_EQ(complaint("defined(1)"), "expected a name in defined(…), found `1`");
  EXPECT_EQ(complaint("\"abc"), "a string has no closing quote");
  EXPECT_EQ(expanded("#let A = \"abc\\"),
            "ERROR main.wgsl:1: in #let: a string has no closing quote");
  EXPECT_EQ(complaint(R"("\q")"), "unknown escape `\\q` in a string");
  EXPECT_EQ(complaint("8 / (4 - 4)"), "division by zero in `8 / 0`");
  EXPECT_EQ(complaint("8 % 0"), "division by zero in `8 % 0`");
  EXPECT_EQ(complaint("1 == \"1\""), "`==` compares 1 with the string \"1\"");
  EXPECT_EQ(complaint("1 < \"1\""), "`<` needs integers, but was given the string \"1\"");
  EXPECT_EQ(complaint("\"1\" * 2"), "`*` needs integers, but was given the string \"1\"");
  EXPECT_EQ(complaint("-\"1\""), "`-` needs integers, but was given the string \"1\"");
  EXPECT_EQ(complaint("!\"1\""), "`!` needs integers, but was given the string \"1\"");
  EXPECT_EQ(complaint("\"a\" && 1"), "`&&` needs integers, but was given the string \"a\"");
  EXPECT_EQ(complaint("0 || \"a\""), "`||` needs integers, but was given the string \"a\"");
  EXPECT_EQ(complaint("\"a\" ? 1 : 2"), "`?` needs integers, but was given the string \"a\"");
  EXPECT_EQ(complaint("max(1, \"a\")"), "`max` needs integers, but was given the string \"a\"");
}

TEST(WgslExpression, RefusesOverflow) {
  const std::string most = "9223372036854775807";
  EXPECT_EQ(complaint("9223372036854775808"),
            "the number 9223372036854775808 does not fit in 64 bits");
  EXPECT_EQ(complaint(most + " + 1"), "`" + most + " + 1` does not fit in 64 bits");
  EXPECT_EQ(complaint("-2 - " + most), "`-2 - " + most + "` does not fit in 64 bits");
  EXPECT_EQ(complaint(most + " * 2"), "`" + most + " * 2` does not fit in 64 bits");
  const Constants names{{"LOW", std::numeric_limits<std::int64_t>::min()}};
  EXPECT_EQ(complaint("LOW / -1", names), "`-9223372036854775808 / -1` does not fit in 64 bits");
  EXPECT_EQ(complaint("LOW % -1", names), "`-9223372036854775808 % -1` does not fit in 64 bits");
  EXPECT_EQ(complaint("-LOW", names), "`0 - -9223372036854775808` does not fit in 64 bits");
}

TEST(WgslExpression, NamesTheNamesNearby) {
  EXPECT_EQ(complaint("TILE_N"), "unknown name `TILE_N`; known: none");
  const Constants names{{"DTYPE", "f32"}, {"TILE_M", std::int64_t{1}}, {"WG", std::int64_t{1}}};
  EXPECT_EQ(complaint("TILE_N", names), "unknown name `TILE_N`; known: TILE_M, DTYPE, WG");
  EXPECT_EQ(complaint("tile_m", names), "unknown name `tile_m`; known: TILE_M, DTYPE, WG");
  Constants many;
  for (int i = 10; i < 30; ++i) many.emplace(formatted("N{}", i), std::int64_t{i});
  EXPECT_EQ(complaint("N1", many),
            "unknown name `N1`; known: N10, N11, N12, N13, N14, N15, N16, N17 and 12 more");
}

}  // namespace
}  // namespace weft::wgsl
