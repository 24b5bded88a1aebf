#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wgsl/template.hpp"

namespace weft::wgsl {
namespace {

/// A kernel that the compiler rejects, with the mistake in an unrolled loop of an included file.
Expanded broken_kernel() {
  const std::vector<File> files{{"sum.wgsl",
                                 "#let N = 2\n"
                                 "@group(0) @binding(0) var<storage> data: array<u32>;\n"
                                 "#include \"lib/wait.wgsl\" with T=\"u32\"\n"
                                 "@compute @workgroup_size(64)\n"
                                 "fn main(@builtin(local_invocation_index) lane: u32) {\n"
                                 "#for i in 0..N\n"
                                 "  wait_{{i}}(data[lane]);\n"
                                 "#endfor\n"
                                 "}\n"},
                                {"lib/wait.wgsl",
                                 "#for k in 0..2\n"
                                 "fn wait_{{k}}(x: {{T}}) {\n"
                                 "  if (x < {{k + 3}}) {\n"
                                 "    workgroupBarrier();\n"
                                 "  }\n"
                                 "}\n"
                                 "#endfor\n"}};
  auto result = expand(files, "sum.wgsl", {});
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Expanded{};
}

// What Tint says about the text that broken_kernel() generates.
constexpr std::string_view tint_output =
    R"(kernel.wgsl:9:5 error: 'workgroupBarrier' must only be called from uniform control flow
    workgroupBarrier();
    ^^^^^^^^^^^^^^^^

kernel.wgsl:8:3 note: control flow depends on possibly non-uniform value
  if (x < 4) {
  ^^

kernel.wgsl:7:11 note: parameter 'x' of 'wait_1' may be non-uniform
fn wait_1(x: u32) {
          ^

kernel.wgsl:15:10 note: possibly non-uniform value passed here
  wait_1(data[lane]);
         ^^^^^^^^^^
)";

constexpr std::string_view template_positions =
    R"(lib/wait.wgsl:4:5 error: 'workgroupBarrier' must only be called from uniform control flow
    workgroupBarrier();
    ^^^^^^^^^^^^^^^^

lib/wait.wgsl:3:3 note: control flow depends on possibly non-uniform value
  if (x < 4) {
  ^^

lib/wait.wgsl:2:11 note: parameter 'x' of 'wait_1' may be non-uniform
fn wait_1(x: u32) {
          ^

sum.wgsl:7:10 note: possibly non-uniform value passed here
  wait_1(data[lane]);
         ^^^^^^^^^^
)";

std::string without(std::string text, std::string_view word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word)) {
    text.erase(at, word.size());
  }
  return text;
}

TEST(WgslAnnotate, RewritesEveryPosition) {
  EXPECT_EQ(annotate(broken_kernel(), tint_output), template_positions);
}

TEST(WgslAnnotate, NeedsNoFileName) {
  EXPECT_EQ(annotate(broken_kernel(), without(std::string(tint_output), "kernel.wgsl")),
            template_positions);
}

TEST(WgslAnnotate, FindsPositionsInsideALine) {
  EXPECT_EQ(annotate(broken_kernel(), "Error while parsing WGSL: :1:4 warning: odd\n"),
            "Error while parsing WGSL: sum.wgsl:2:4 warning: odd\n");
  EXPECT_EQ(annotate(broken_kernel(), "a :16:1 error: x :1:1 note: y"),
            "a sum.wgsl:9:1 error: x sum.wgsl:2:1 note: y");
}

TEST(WgslAnnotate, LeavesOtherTextAlone) {
  for (const std::string_view text :
       {"", "no entry point found, entry point required", ":", "::", "a:1", ":1:2", ":1:2 fine",
        ":17:1 error: behind the last line", ":0:1 error: no line", ":1: error: no column",
        "let x: u32 = 1:2;", ":99999999999999999999:1 error: too long", "time 12:30:59 error: x"}) {
    EXPECT_EQ(annotate(broken_kernel(), text), text);
  }
  EXPECT_EQ(annotate(Expanded{}, ":1:1 error: x"), ":1:1 error: x");
}

}  // namespace
}  // namespace weft::wgsl
