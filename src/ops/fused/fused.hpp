#pragma once

#include <vector>

#include "ops/fused/chain.hpp"
#include "ops/plan.hpp"

namespace weft::ops::fused {

/// y = the last step of a chain of elementwise functions, in one kernel that is generated for it.
/// Everything is computed in f32, without rounding in between.
struct Args {
  std::vector<View> inputs;  ///< f32, f16 or bf16; broadcast to the shape of y.
  std::vector<Step> steps;   ///< At least one.
  View y;                    ///< A float type, dense; may be the same view as an input.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::fused
