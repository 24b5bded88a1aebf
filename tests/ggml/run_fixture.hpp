#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "backends.hpp"
#include "base/format.hpp"
#include "process.hpp"
#include "random_model.hpp"

namespace weft::test {

/// `weft run` as a program, with a small model.
class GgmlRun : public testing::Test {
 protected:
  void SetUp() override {
    load_backends();
    setenv("WEFT_LLAMA_LIB", WEFT_GGML_LIB, 1);
    unsetenv("WEFT_GGML_DEVICES");  // `load_backends` needs three.
    model = std::filesystem::path(testing::TempDir()) / formatted("weft-run-{}.gguf", getpid());
    ASSERT_TRUE(write_random_model(model, {.architecture = "llama"}));
  }
  void TearDown() override { std::filesystem::remove(model); }

  /// What the program writes with these options, its messages left out.
  [[nodiscard]] std::string text_of(const std::string& options,
                                    const std::string& variables = "") const {
    const Outcome outcome = run_command(formatted(
        "{{ {} {} run -m {} {} 2>/dev/null; }}", variables, WEFT_PROGRAM, model.string(), options));
    EXPECT_EQ(outcome.status, 0) << options << outcome.text;
    return outcome.text;
  }
  /// The same on the CPU, which starts faster, where it does not matter who computes.
  [[nodiscard]] std::string on_cpu(const std::string& options) const {
    return text_of("--device cpu -t 1 " + options);
  }
  /// Expects that the program ends with one line of error that holds `wanted`.
  static void expect_error(const std::filesystem::path& model, const std::string& options,
                           std::string_view wanted) {
    const Outcome outcome = run_command(
        formatted("timeout 60 {} run -m {} -p x {}", WEFT_PROGRAM, model.string(), options));
    EXPECT_EQ(outcome.status, 1) << options;
    EXPECT_EQ(std::ranges::count(outcome.text, '\n'), 1) << outcome.text;
    EXPECT_TRUE(outcome.text.contains(wanted)) << outcome.text;
  }

  std::filesystem::path model;
};

}  // namespace weft::test
