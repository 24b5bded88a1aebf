#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::cumsum {

/// What is carried along a sequence.
enum class Function : std::uint8_t {
  sum,
  prod,
  max,
  min,
  logsumexp,  ///< log(exp(x[0]) + … + exp(x[i])), floats only; -infinity counts as the lowest f32.
};

/// Every function, for tables and loops.
inline constexpr std::array all_functions{Function::sum, Function::prod, Function::max,
                                          Function::min, Function::logsumexp};

/// The name of a function, for example "prod".
constexpr std::string_view name(Function function) {
  constexpr std::array<std::string_view, 5> names{"sum", "prod", "max", "min", "logsumexp"};
  return names[static_cast<std::size_t>(function)];
}

/// Running sums along one dimension: y[i] = x[0] + … + x[i]; or products, or what else the function
/// says. Floats are computed in f32, integers in their own kind (wrapping). Results do not depend
/// on the run.
struct Args {
  View x;                  ///< f32, f16, bf16, i32 or u32, any strides.
  View y;                  ///< The shape of `x`, any of these types; may be the same view as `x`.
  std::uint32_t axis = 0;  ///< The dimension to sum along.
  bool exclusive = false;  ///< Leave x[i] out of y[i], so that sums start with 0.
  bool reverse = false;    ///< Sum from the end: y[i] = x[i] + … + x[last].
  Function function = Function::sum;  ///< An exclusive scan starts with its neutral value.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::cumsum
