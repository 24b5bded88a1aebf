#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/map/functions.hpp"
#include "ops/plan.hpp"

namespace weft::ops::fused {

/// One elementwise function of ops/map in a chain. Values are numbered: first the inputs of the chain, then the results
/// of its steps.
struct Step {
  std::string function;
  std::vector<std::uint32_t> inputs;  ///< Numbers of values that exist before this step.
  map::Scalars scalars{};
  bool operator==(const Step&) const = default;
};

/// y = the last step of a chain of elementwise functions, in one kernel that is generated for it. Everything is computed
/// in f32, without rounding in between.
struct Args {
  std::vector<View> inputs;  ///< f32, f16 or bf16; broadcast to the shape of y.
  std::vector<Step> steps;   ///< At least one.
  View y;                    ///< A float type, dense; may be the same view as an input.
};

/// A chain has at most this many inputs, which is what every device can bind beside an output, and steps.
inline constexpr std::uint32_t max_inputs = 6;
inline constexpr std::uint32_t max_steps = 24;

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::fused
