#pragma once

#include <vector>

#include "ops/case.hpp"

namespace weft::ops::rows {

void add_outside_cases(std::vector<Case>& out);

}  // namespace weft::ops::rows
