#pragma once

#include "ops/plan.hpp"

namespace weft::ops::searchsorted {

/// Where values belong in rows that ascend: y[…, j] is how many elements of sorted[…] are below
/// values[…, j], or with `right` not above it. NaN in `values` belongs behind everything.
struct Args {
  View sorted;  ///< […, n] of f32, f16, bf16, i32 or u32, each row ascending.
  View values;  ///< […, m] of the same type and rows; a sorted of [n] serves all rows (stride 0).
  View y;       ///< […, m] of i32.
  bool right = false;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::searchsorted
