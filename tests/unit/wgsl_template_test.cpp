#include "wgsl/template.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "wgsl_expand.hpp"

namespace weft::wgsl {
namespace {

/// "file:line" of every generated line.
std::string origins(const Files& files, const Constants& constants = {}) {
  const auto result = expand(files, "main.wgsl", constants);
  if (!result) return result.error().message;
  std::string text;
  for (const Origin& origin : result->origins) {
    text += formatted("{}{}:{}", text.empty() ? "" : " ", origin.file, origin.line);
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
