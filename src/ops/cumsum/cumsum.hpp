#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::cumsum {

/// Running sums along one dimension: y[i] = x[0] + … + x[i]. Floats are summed in f32, integers in their own kind
/// (wrapping). Results do not depend on the run.
struct Args {
  View x;                  ///< f32, f16, bf16, i32 or u32, any strides.
  View y;                  ///< The shape of `x`, any of these types; may be the same view as `x`.
  std::uint32_t axis = 0;  ///< The dimension to sum along.
  bool exclusive = false;  ///< Leave x[i] out of y[i], so that sums start with 0.
  bool reverse = false;    ///< Sum from the end: y[i] = x[i] + … + x[last].
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::cumsum
