#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/case.hpp"
#include "ops/recurrent_steps/recurrent_steps.hpp"

namespace weft::ops::recurrent_steps {

/// What a case of a recurrent layer is.
struct Options {
  Cell cell = Cell::lstm;
  std::uint64_t directions = 1;
  std::uint64_t tokens = 3;
  std::uint64_t batch = 3;
  std::uint64_t hidden = 8;
  DType dtype = DType::f32;
  bool reverse = false;
  bool started = true;  // with states before the first token
  bool biased = true;
  bool lengths = false;
  bool views = false;  // inputs that lie in another order
  bool pulled = true;  // with derivatives by the results
  Product product = Product::by_device;
};

std::vector<Case> back_cases(std::uint64_t seed);

}  // namespace weft::ops::recurrent_steps
