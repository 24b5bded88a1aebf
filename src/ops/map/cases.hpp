#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/case.hpp"
#include "ops/map/map.hpp"

namespace weft::ops::map {

using Shape = std::vector<std::uint64_t>;

/// A case of `function`: inputs as given, one output of `y`.
Case make_case(const Function& function, std::string name, std::vector<TensorSpec> tensors);

/// Inputs and output of one shape.
std::vector<TensorSpec> same_shape(const Function& function, DType type, const Shape& shape);

/// Past one launch and past one binding, and what the kernel for many elements takes.
void add_large_cases(std::vector<Case>& out);

void add_benchmarks(std::vector<Case>& out);

}  // namespace weft::ops::map
