#include "wgsl/template.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <format>
#include <limits>
#include <string>
#include <vector>

namespace weft::wgsl {
namespace {

using Files = std::vector<File>;

/// The text that `main.wgsl` expands to, or "ERROR message".
std::string expanded(const Files& files, const Constants& constants = {}) {
  const auto result = expand(files, "main.wgsl", constants);
  if (!result) {
    EXPECT_EQ(result.error().code, ErrorCode::shader);
    return "ERROR " + result.error().message;
  }
  EXPECT_EQ(std::ranges::count(result->text, '\n'), std::ssize(result->origins));
  return result->text;
}

std::string expanded(std::string_view text, const Constants& constants = {}) {
  return expanded(Files{{"main.wgsl", text}}, constants);
}

/// The value of an expression as text.
std::string value(std::string_view expression, const Constants& constants = {}) {
  std::string text = expanded(std::format("{{{{{}}}}}", expression), constants);
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

/// "file:line" of every generated line.
std::string origins(const Files& files, const Constants& constants = {}) {
  const auto result = expand(files, "main.wgsl", constants);
  if (!result) return result.error().message;
  std::string text;
  for (const Origin& origin : result->origins) {
    text += std::format("{}{}:{}", text.empty() ? "" : " ", origin.file, origin.line);
  }
  return text;
}

TEST(WgslText, IsCopied) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("a"), "a\n");
  EXPECT_EQ(expanded("a\n\n  b\n"), "a\n\n  b\n");
  EXPECT_EQ(expanded("a\r\n#let X = 1\r\n{{X}}\r\n"), "a\n1\n");
  EXPECT_EQ(expanded("fn f() { if (a) { b(); }}"), "fn f() { if (a) { b(); }}\n");
}

TEST(WgslText, SubstitutesAnywhere) {
  const Constants names{{"N", std::int64_t{4}}, {"T", "f16"}, {"LINES", "a\nb"}, {"E", ""}};
  EXPECT_EQ(expanded("vec{{N}}<{{T}}>({{ N * 2 }});", names), "vec4<f16>(8);\n");
  EXPECT_EQ(expanded("{{T}}{{N}}{{T}}", names), "f164f16\n");
  EXPECT_EQ(expanded("[{{E}}]", names), "[]\n");
  EXPECT_EQ(expanded("x {{LINES}} y\nz", names), "x a\nb y\nz\n");
  EXPECT_EQ(expanded("struct S {{{T}}}", names), "struct S {f16}\n");
  EXPECT_EQ(expanded("{{\"}}\"}}", names), "}}\n");
  EXPECT_EQ(expanded("{{\"a // b\"}} {{N}}", names), "a // b 4\n");
}

TEST(WgslText, DoesNotExpandTheValueAgain) {
  EXPECT_EQ(expanded("{{A}}", {{"A", "{{B}}\n#if x"}}), "{{B}}\n#if x\n");
}

TEST(WgslText, LeavesCommentsAlone) {
  EXPECT_EQ(expanded("{{1}} // {{unknown}} #if\n// #endif"), "1 // {{unknown}} #if\n// #endif\n");
  EXPECT_EQ(expanded("// comment\n#if 0 // why\nx\n  #endif // done\ny"), "// comment\ny\n");
  EXPECT_EQ(expanded("#let A = 6 / 2 // 3\n{{A}}"), "3\n");
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
  for (int i = 10; i < 30; ++i) many.emplace(std::format("N{}", i), std::int64_t{i});
  EXPECT_EQ(complaint("N1", many),
            "unknown name `N1`; known: N10, N11, N12, N13, N14, N15, N16, N17 and 12 more");
}

TEST(WgslLet, DefinesAndRedefines) {
  EXPECT_EQ(expanded("#let A = 3\n#let B = A * 2\n#let A = A + B\n{{A}} {{B}}"), "9 6\n");
  EXPECT_EQ(expanded("  # let A=\"x\"\n{{A}}"), "x\n");
  const Constants names{{"A", std::int64_t{1}}};
  EXPECT_EQ(expanded("{{A}}\n#let A = 2\n{{A}}", names), "1\n2\n");
  EXPECT_EQ(names.at("A"), Value{std::int64_t{1}});
  EXPECT_EQ(expanded("\n#let A 3"), "ERROR main.wgsl:2: in #let: expected `=`, found `3`");
  EXPECT_EQ(expanded("#let 3 = 3"), "ERROR main.wgsl:1: in #let: expected a name, found `3`");
  EXPECT_EQ(expanded("#let A = 3 4"),
            "ERROR main.wgsl:1: in #let: expected the end of the line, found `4`");
  EXPECT_EQ(expanded("#let A = // 3"),
            "ERROR main.wgsl:1: in #let: expected a value, found the end of the line");
}

TEST(WgslIf, TakesTheFirstBranchThatHolds) {
  const std::string_view text =
      "#if A == 1\none\n#elif A == 2\ntwo\n#elif A < 4\nmore\n#else\nrest\n#endif\nend";
  const auto with = [&](std::int64_t a) { return expanded(text, {{"A", a}}); };
  EXPECT_EQ(with(1), "one\nend\n");
  EXPECT_EQ(with(2), "two\nend\n");
  EXPECT_EQ(with(3), "more\nend\n");
  EXPECT_EQ(with(4), "rest\nend\n");
  EXPECT_EQ(expanded("#if 0\nx\n#endif"), "");
  EXPECT_EQ(expanded("#if 0\nx\n#elif 0\ny\n#endif\nz"), "z\n");
}

TEST(WgslIf, Nests) {
  const std::string_view text =
      "#if A\n  #if B\nab\n  #else\na\n  #endif\n#else\n  #if B\nb\n  #endif\n#endif\n";
  const auto with = [&](std::int64_t a, std::int64_t b) {
    return expanded(text, {{"A", a}, {"B", b}});
  };
  EXPECT_EQ(with(1, 1), "ab\n");
  EXPECT_EQ(with(1, 0), "a\n");
  EXPECT_EQ(with(0, 1), "b\n");
  EXPECT_EQ(with(0, 0), "");
}

TEST(WgslIf, DoesNotEvaluateSkippedLines) {
  EXPECT_EQ(expanded("#if 1\nx\n#elif UNKNOWN\n#endif"), "x\n");
  EXPECT_EQ(expanded("#if 0\n{{UNKNOWN}}\n#if UNKNOWN\n#endif\n#error \"no\"\n#endif\nx"), "x\n");
  EXPECT_EQ(expanded("#if 1\n#let A = 5\n#endif\n{{A}}"), "5\n");
}

TEST(WgslIf, ExplainsMistakes) {
  EXPECT_EQ(expanded("a\n#if \"x\"\n#endif"),
            "ERROR main.wgsl:2: in #if: the condition must be an integer, but is the string \"x\"");
  EXPECT_EQ(expanded("#if 0\n#elif\n#endif"),
            "ERROR main.wgsl:2: in #elif: expected a value, found the end of the line");
  EXPECT_EQ(expanded("#if 1 1\n#endif"),
            "ERROR main.wgsl:1: in #if: expected the end of the line, found `1`");
  EXPECT_EQ(expanded("a\n#if 1\n#if 0\n#endif\nb"),
            "ERROR main.wgsl:2: #if is never closed by #endif");
  EXPECT_EQ(expanded("a\n#endif"), "ERROR main.wgsl:2: #endif without #if");
  EXPECT_EQ(expanded("#else"), "ERROR main.wgsl:1: #else without #if");
  EXPECT_EQ(expanded("#elif 1"), "ERROR main.wgsl:1: #elif without #if");
  EXPECT_EQ(expanded("#if 1\n#else\n#elif 1\n#endif"),
            "ERROR main.wgsl:3: #elif comes after the #else of line 2");
  EXPECT_EQ(expanded("#if 1\n#else\n#else\n#endif"),
            "ERROR main.wgsl:3: #else comes after the #else of line 2");
  EXPECT_EQ(expanded("#if 1\n#else if\n#endif"),
            "ERROR main.wgsl:2: unexpected text `if` after #else");
}

TEST(WgslFor, RepeatsItsBody) {
  EXPECT_EQ(expanded("#for i in 0..3\na{{i}}\n#endfor"), "a0\na1\na2\n");
  EXPECT_EQ(expanded("#for i in A - 1..A*2\n{{i}}\n#endfor", {{"A", std::int64_t{2}}}),
            "1\n2\n3\n");
  EXPECT_EQ(expanded("#for i in 2..2\nx\n#endfor\n#for i in 3..1\ny\n#endfor\nz"), "z\n");
  EXPECT_EQ(expanded("#for i in -2..0\n{{i}}\n#endfor"), "-2\n-1\n");
}

TEST(WgslFor, NestsWithEverything) {
  EXPECT_EQ(expanded("#for i in 0..3\n  #for j in i..3\n    #if i != j\n{{i}}{{j}}\n    #endif\n"
                     "  #endfor\n#endfor"),
            "01\n02\n12\n");
  EXPECT_EQ(expanded("#let S = 0\n#for i in 0..5\n#let S = S + i\n#endfor\n{{S}}"), "10\n");
}

TEST(WgslFor, RestoresTheName) {
  EXPECT_EQ(expanded("#let i = 9\n#for i in 0..1\n{{i}}\n#endfor\n{{i}}"), "0\n9\n");
  EXPECT_EQ(expanded("#for i in 0..1\n{{i}}\n#endfor\n{{i}}", {{"i", "up"}}), "0\nup\n");
  EXPECT_EQ(expanded("#for i in 0..1\n#endfor\n{{defined(i)}}"), "0\n");
  EXPECT_EQ(expanded("#for i in 0..2\n#for i in 5..6\n{{i}}\n#endfor\n{{i}}\n#endfor"),
            "5\n0\n5\n1\n");
}

TEST(WgslFor, ExplainsMistakes) {
  EXPECT_EQ(expanded("#for 1 in 0..3\n#endfor"),
            "ERROR main.wgsl:1: in #for: expected a name, found `1`");
  EXPECT_EQ(expanded("#for i 0..3\n#endfor"),
            "ERROR main.wgsl:1: in #for: expected `in` after the variable");
  EXPECT_EQ(expanded("#for i in 0\n#endfor"),
            "ERROR main.wgsl:1: in #for: expected `..`, found the end of the line");
  EXPECT_EQ(expanded("#for i in 0..\"3\"\n#endfor"),
            "ERROR main.wgsl:1: in #for: the last value must be an integer, but is the string "
            "\"3\"");
  EXPECT_EQ(expanded("\n#for i in 0..3\nx"), "ERROR main.wgsl:2: #for is never closed by #endfor");
  EXPECT_EQ(expanded("#endfor"), "ERROR main.wgsl:1: #endfor without #for");
  EXPECT_EQ(expanded("#for i in 0..3\n\n#endif"),
            "ERROR main.wgsl:3: #endif inside the #for of line 1, which needs #endfor first");
  EXPECT_EQ(expanded("\n#if 1\n#endfor\n#endif"),
            "ERROR main.wgsl:3: #endfor inside the #if of line 2, which needs #endif first");
  EXPECT_EQ(expanded("#for i in 0..3\n{{i}}\n{{1 / (2 - i)}}\n#endfor"),
            "ERROR main.wgsl:3: in {{…}}: division by zero in `1 / 0`");
}

TEST(WgslError, Stops) {
  EXPECT_EQ(expanded("a\n#error \"no {{N * 2}} here\"", {{"N", std::int64_t{4}}}),
            "ERROR main.wgsl:2: no 8 here");
  EXPECT_EQ(expanded("#error no"), "ERROR main.wgsl:1: in #error: unknown name `no`; known: none");
  EXPECT_EQ(expanded("\n#esle"),
            "ERROR main.wgsl:2: unknown directive `#esle`; known: else, elif, let, endif, error, "
            "for, if, endfor and 1 more");
  EXPECT_EQ(expanded("#IF 1").substr(0, 47), "ERROR main.wgsl:1: unknown directive `#IF`; kno");
  EXPECT_EQ(expanded("#if 0\n#frob\n#endif").substr(0, 45),
            "ERROR main.wgsl:2: unknown directive `#frob`;");
}

TEST(WgslInclude, InsertsTheFile) {
  const Files files{{"main.wgsl", "a\n  #include \"lib/x.wgsl\" // why\nb {{X}}"},
                    {"lib/x.wgsl", "x {{A}}\n#let X = A + 1\n"}};
  EXPECT_EQ(expanded(files, {{"A", std::int64_t{1}}}), "a\nx 1\nb 2\n");
}

TEST(WgslInclude, TakesParametersInTheirOwnScope) {
  const Files files{{"main.wgsl",
                     "#include \"x.wgsl\" with T=\"f32\" N=A*2\n"
                     "#include \"x.wgsl\" with T=\"f16\" N = (A + 1)\n"
                     "{{A}} {{defined(T)}} {{defined(OWN)}}"},
                    {"x.wgsl", "#let OWN = N + 1\n#let A = A + 100\n{{T}} {{N}} {{OWN}} {{A}}"}};
  EXPECT_EQ(expanded(files, {{"A", std::int64_t{4}}}), "f32 8 9 104\nf16 5 6 104\n4 0 0\n");
}

TEST(WgslInclude, EvaluatesParametersOutside) {
  const Files files{{"main.wgsl", "#include \"x.wgsl\" with A=B B=A"}, {"x.wgsl", "{{A}} {{B}}"}};
  EXPECT_EQ(expanded(files, {{"A", "a"}, {"B", "b"}}), "b a\n");
}

TEST(WgslInclude, ComputesTheFileName) {
  const Files files{{"main.wgsl",
                     "#for i in 0..2\n#include \"l{{i}}.wgsl\"\n#include \"l\" + i + \".wgsl\"\n"
                     "#endfor"},
                    {"l0.wgsl", "zero"},
                    {"l1.wgsl", "one"}};
  EXPECT_EQ(expanded(files), "zero\nzero\none\none\n");
}

TEST(WgslInclude, ExplainsMistakes) {
  const auto with = [](std::string_view text, std::string_view x) {
    return expanded(Files{{"main.wgsl", text}, {"x.wgsl", x}});
  };
  EXPECT_EQ(with("\n#include \"y.wgsl\"", ""),
            "ERROR main.wgsl:2: there is no template \"y.wgsl\"; known: x.wgsl, main.wgsl");
  EXPECT_EQ(with("#include", ""),
            "ERROR main.wgsl:1: in #include: expected a value, found the end of the line");
  EXPECT_EQ(with("#include 3", ""),
            "ERROR main.wgsl:1: #include needs a file name in quotes, but was given 3");
  EXPECT_EQ(with("#include \"x.wgsl\" A=3", ""),
            "ERROR main.wgsl:1: in #include: expected the end of the line, found `A`");
  EXPECT_EQ(with("#include \"x.wgsl\" with", ""),
            "ERROR main.wgsl:1: in #include: expected a name after `with`, found the end of the "
            "line");
  EXPECT_EQ(with("#include \"x.wgsl\" with A", ""),
            "ERROR main.wgsl:1: in #include: expected `=`, found the end of the line");
  EXPECT_EQ(with("#include \"x.wgsl\" with A=1 A=2", ""),
            "ERROR main.wgsl:1: in #include: `A` is given twice");
  EXPECT_EQ(with("a\n#include \"x.wgsl\"", "\n\n{{1 / 0}}"),
            "ERROR x.wgsl:3: in {{…}}: division by zero in `1 / 0` (included from main.wgsl:2)");
  EXPECT_EQ(with("a\n#include \"x.wgsl\"", "\n#if 1"),
            "ERROR x.wgsl:2: #if is never closed by #endif (included from main.wgsl:2)");
  const auto missing = expand({}, "main.wgsl", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::shader);
  EXPECT_EQ(missing.error().message, "there is no template \"main.wgsl\"; known: none");
}

TEST(WgslInclude, ShowsTheWholeChain) {
  const Files files{{"main.wgsl", "\n\n#include \"map/a.wgsl\""},
                    {"map/a.wgsl", "\n#if 1\n#include \"b.wgsl\" with Q=1\n#endif"},
                    {"b.wgsl", "{{Q}}\n#error \"stop\""}};
  EXPECT_EQ(expanded(files),
            "ERROR b.wgsl:2: stop (included from map/a.wgsl:3, included from main.wgsl:3)");
}

TEST(WgslInclude, RefusesCycles) {
  EXPECT_EQ(expanded("\n#include \"main.wgsl\""),
            "ERROR main.wgsl:2: #include goes in a circle: main.wgsl -> main.wgsl");
  const Files files{{"main.wgsl", "#include \"a.wgsl\""},
                    {"a.wgsl", "#include \"b.wgsl\""},
                    {"b.wgsl", "\n#include \"a.wgsl\""}};
  EXPECT_EQ(expanded(files),
            "ERROR b.wgsl:2: #include goes in a circle: a.wgsl -> b.wgsl -> a.wgsl (included from "
            "a.wgsl:1, included from main.wgsl:1)");
}

TEST(WgslOrigins, AreExact) {
  const Files files{{"main.wgsl",
                     "a\n#let L = \"p\\nq\"\n{{L}}\n#for i in 0..2\n{{i}}\n#include \"x.wgsl\"\n"
                     "#endfor\n#if 0\nno\n#else\n\nyes\n#endif\n"},
                    {"x.wgsl", "// c\n\nx"}};
  EXPECT_EQ(origins(files),
            "main.wgsl:1 main.wgsl:3 main.wgsl:3 main.wgsl:5 x.wgsl:1 x.wgsl:2 x.wgsl:3 "
            "main.wgsl:5 x.wgsl:1 x.wgsl:2 x.wgsl:3 main.wgsl:11 main.wgsl:12");
}

}  // namespace
}  // namespace weft::wgsl
