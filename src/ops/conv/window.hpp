#pragma once

#include "ops/conv/direct.hpp"

namespace weft::ops::conv {

/// Whether a convolution has small windows in two dimensions, whose rows overlap or come in
/// numbers.
bool takes_window(const Problem& problem, Mode mode);

/// Several rows of a column at a time, for such convolutions. The tensors fit one binding each.
Result<Plan> plan_window(const Problem& problem, Mode mode, const Caps& caps);

}  // namespace weft::ops::conv
