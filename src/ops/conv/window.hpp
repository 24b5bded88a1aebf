#pragma once

#include <optional>

#include "ops/conv/direct.hpp"

namespace weft::ops::conv {

/// Several rows of a column at a time, for small windows in two dimensions whose rows overlap or come in numbers; nothing
/// for any other convolution. The tensors fit one binding each.
std::optional<Result<Plan>> plan_window(const Problem& problem, Mode mode, const Caps& caps);

}  // namespace weft::ops::conv
