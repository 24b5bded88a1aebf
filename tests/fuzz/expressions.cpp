// The differential fuzzer: bytes choose programs and whole expressions of tensors, which the device
// must compute as the host does (tests/device/random_expression.hpp). WEFT_CAPS takes capabilities
// away, as everywhere.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <weft/weft.hpp>

#include "../device/random_expression.hpp"
#include "coverage.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

const Device& device() {
  static const Device made;
  return made;
}

void require(const std::string& wrong) {
  if (wrong.empty()) return;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}

/// Which steps follow each other, on which types: the kernels that are made for them differ by
/// that.
void note_steps(const test::Expression& expression) {
  std::size_t before = 0;
  for (const test::Step& step : expression.steps) {
    std::string words;
    for (const char c : step.what) {
      if (c < '0' || c > '9') words += c;
    }
    const std::size_t kind =
        std::hash<std::string>()(words) + static_cast<std::size_t>(step.wanted.dtype);
    note(kind ^ (before * 31));
    before = kind;
  }
}

}  // namespace

int programs_run(const std::uint8_t* data, std::size_t size) {
  test::Source source(std::span(data, size));
  require(test::check_steps(device(), source));
  return 0;
}

int expressions_run(const std::uint8_t* data, std::size_t size) {
  test::Source source(std::span(data, size));
  const test::Expression expression = test::random_expression(source);
  note_steps(expression);
  if (!expression.steps.empty()) require(test::compare_all_ways(device(), expression));
  return 0;
}

std::vector<std::string> program_seeds() {
  std::vector<std::string> seeds(40);
  std::mt19937_64 random(1);
  for (std::string& seed : seeds) {
    for (std::size_t i = 0; i < 160; ++i) seed += static_cast<char>(random());
  }
  return seeds;
}

}  // namespace weft::fuzz
