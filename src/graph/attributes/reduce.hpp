#pragma once

#include <cstdint>
#include <string>

#include "ops/reduce/reduce.hpp"

namespace weft::graph {

struct ReduceAttributes {
  ops::reduce::Function function = ops::reduce::Function::sum;
  std::uint32_t axes = 0;
  bool keep_dims = false;
  bool operator==(const ReduceAttributes&) const = default;
};
std::string text_of(const ReduceAttributes& a);

}  // namespace weft::graph
