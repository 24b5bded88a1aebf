#include "wgsl/limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "wgsl/template.hpp"

namespace weft::wgsl {
namespace {

using Clock = std::chrono::steady_clock;

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

/// The error of a template that must not hang. The time bound is far above what is needed,
/// so that it fails only for work that is not bounded.
std::string refusal(const std::vector<File>& files, std::string_view main = "main.wgsl") {
  const auto start = Clock::now();
  const auto result = expand(files, main, {});
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(120));
  if (result) return formatted("expanded to {} bytes", result->text.size());
  EXPECT_EQ(result.error().code, ErrorCode::shader);
  return result.error().message;
}

std::string refusal(std::string_view text) { return refusal({{"main.wgsl", text}}); }

constexpr std::string_view too_much_work =
    "the template does too much work (more than 67108864 bytes of lines); is the range of a #for "
    "too large?";

TEST(WgslLimits, EmptyLoopsEnd) {
  EXPECT_EQ(refusal("a\n#for i in 0..9223372036854775807\n#endfor"),
            formatted("main.wgsl:2: {}", too_much_work));
  EXPECT_EQ(refusal("#for i in 0..100000\n#for j in 0..100000\n#let A = i * j\n#endfor\n#endfor"),
            formatted("main.wgsl:3: {}", too_much_work));
}

TEST(WgslLimits, OutputIsBounded) {
  EXPECT_EQ(refusal("\n#for i in 0..1000000000\nsome text\n#endfor"),
            "main.wgsl:3: the generated text passes 8388608 bytes");
}

TEST(WgslLimits, StringsAreBounded) {
  EXPECT_EQ(refusal("#let S = \"x\"\n#for i in 0..100\n#let S = S + S\n#endfor"),
            "main.wgsl:3: in #let: a string grew to 2097152 bytes; at most 1048576 are allowed");
  EXPECT_EQ(refusal("#let S = \"x\"\n#for i in 0..20\n#let S = S + S\n#endfor\n"
                    "#for i in 0..1000000\n#let T = S\n#endfor"),
            "main.wgsl:6: in #let: the template uses too much text");
  EXPECT_EQ(refusal("#let S = \"x\"\n#for i in 0..20\n#let S = S + S\n#endfor\n" +
                    repeated("{{S}}", 100)),
            "main.wgsl:5: the generated text passes 8388608 bytes");
}

TEST(WgslLimits, DepthIsBounded) {
  const std::string blocks = repeated("#if 1\n", 65) + repeated("#endif\n", 65);
  EXPECT_EQ(refusal(blocks), "main.wgsl:65: blocks are nested more than 64 deep");
  const std::string_view too_deep =
      "main.wgsl:1: in {{…}}: the expression is nested more than 128 deep";
  EXPECT_EQ(refusal("{{" + repeated("(", 1000000) + "}}"), too_deep);
  EXPECT_EQ(refusal("{{" + repeated("-", 1000000) + "1}}"), too_deep);
  EXPECT_EQ(refusal("{{" + repeated("1 ? 1 : ", 1000000) + "1}}"), too_deep);
  EXPECT_EQ(refusal("{{" + repeated("\"{{", 1000000) + "}}"), too_deep);
}

TEST(WgslLimits, IncludesAreBounded) {
  std::vector<std::string> names;
  std::vector<std::string> deep;
  std::vector<std::string> wide;
  for (int i = 0; i < 40; ++i) {
    names.push_back(formatted("f{}", i));
    deep.push_back(formatted("#include \"f{}\"\n", i + 1));
    wide.push_back(i < 30 ? repeated(deep.back(), 2) : std::string());
  }
  std::vector<File> deep_files;
  std::vector<File> wide_files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    deep_files.push_back({names[i], deep[i]});
    wide_files.push_back({names[i], wide[i]});
  }
  EXPECT_TRUE(refusal(deep_files, "f0")
                  .starts_with("f31:1: #include is nested more than 32 deep (included from f30:1, "
                               "included from f29:1"));
  EXPECT_NE(refusal(wide_files, "f0").find(too_much_work), std::string::npos);
}

TEST(WgslLimits, AllowedDepthWorks) {
  const std::string blocks = repeated("#if 1\n", 64) + "x\n" + repeated("#endif\n", 64);
  EXPECT_EQ(refusal(blocks), "expanded to 2 bytes");
  EXPECT_EQ(refusal("{{" + repeated("(", 60) + "1" + repeated(")", 60) + "}}"),
            "expanded to 2 bytes");
}

TEST(WgslLimits, ExpansionIsFast) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += formatted(
        "#let OFFSET = {} * TILE\n"
        "#if OFFSET % 2 == 0 && TYPE == \"f16\"\n"
        "  let value_{{{{OFFSET}}}} = vec{{{{TILE}}}}<{{{{TYPE}}}}>(data[index + "
        "{{{{OFFSET}}}}u]);\n"
        "  sum += dot(value_{{{{OFFSET}}}}, weights[{}]);  // plain text behind\n"
        "#endif\n",
        i, i);
  }
  const std::vector<File> files{{"main.wgsl", text}};
  const Constants constants{{"TILE", std::int64_t{4}}, {"TYPE", "f16"}, {"WIDTH", std::int64_t{8}}};
  auto best = Clock::duration::max();
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto start = Clock::now();
    const auto result = expand(files, "main.wgsl", constants);
    best = std::min(best, Clock::now() - start);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(result->origins.size(), 200U);
  }
  const std::chrono::duration<double, std::micro> micros = best;
  RecordProperty("microseconds_for_500_lines", formatted("{:.0f}", micros.count()));
  // Generous, for sanitizers and busy machines; the usual time is well under a millisecond.
  EXPECT_LT(micros.count(), 20000.0);
}

}  // namespace
}  // namespace weft::wgsl
