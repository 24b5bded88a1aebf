#pragma once

#include <string_view>

#include "weft/tensor.hpp"

namespace weft::graph {

/// The function that was called, for as long as it calls others that it is made of: their errors
/// name it instead of themselves. The outermost one counts.
class Called {
 public:
  Called(std::string_view name, const Where& where) noexcept;
  ~Called();
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;

 private:
  bool outermost_;
};

/// The function whose name errors have: `function`, or what was called that is made of it.
std::string_view called_or(std::string_view function) noexcept;

}  // namespace weft::graph
