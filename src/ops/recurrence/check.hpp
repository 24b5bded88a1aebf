#pragma once

#include "ops/recurrence/recurrence.hpp"

namespace weft::ops::recurrence {

/// Whether the tensors of a recurrence fit together.
Status check(const Args& args);

}  // namespace weft::ops::recurrence
