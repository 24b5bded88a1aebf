#pragma once

#include <string>
#include <vector>

#include "random_program.hpp"

// Random programs and expressions on a device against what the host makes of them. What is wrong
// comes back as a text with the whole program in it, empty where nothing is, so that tests and
// fuzzers can both ask.

namespace weft::test {

/// A whole expression: tensors to begin with, steps, and what their results are.
struct Expression {
  std::vector<HostArray> leaves;
  std::vector<Step> steps;
  std::string log;
};

/// One whose elements are small enough that nothing is rounded.
Expression random_expression(Source& source);

/// Computes it step by step, lazily, compiled, replayed, and compiled without passes: all must have
/// the bits of the host.
std::string compare_all_ways(const Device& device, const Expression& expression);

/// Draws steps with elements of any value and runs each on what the device made of the ones before.
std::string check_steps(const Device& device, Source& source);

}  // namespace weft::test
