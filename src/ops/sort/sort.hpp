#pragma once

#include "ops/plan.hpp"

namespace weft::ops::sort {

/// Sorts along the last dimension. The order is stable: equal elements keep their order, also with
/// `descending`. NaN counts as larger than every number, and -0 equals 0.
struct Args {
  View x;         ///< f32, f16, bf16, i32, u32, i8 or u8, any strides.
  View indices;   ///< i32, the shape of `x` except along the last dimension: as many as are wanted.
  View values{};  ///< Optional: x at `indices`, with their shape and the type of `x`.
  bool descending = false;  ///< Largest first.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::sort
