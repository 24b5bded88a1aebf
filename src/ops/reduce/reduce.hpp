#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/fused/chain.hpp"
#include "ops/plan.hpp"

namespace weft::ops::reduce {

/// What a reduction computes. `norm` is the square root of the sum of squares, `any` and `all` are
/// 1 or 0.
enum class Function : std::uint8_t {
  sum,
  mean,
  max,
  min,
  prod,
  argmax,
  argmin,
  norm,
  sum_squares,
  any,
  all
};

/// Every function, for tables and loops.
inline constexpr std::array all_functions{Function::sum,    Function::mean, Function::max,
                                          Function::min,    Function::prod, Function::argmax,
                                          Function::argmin, Function::norm, Function::sum_squares,
                                          Function::any,    Function::all};

/// The name of a function, for example "argmax".
constexpr std::string_view name(Function function) {
  switch (function) {
    case Function::sum: return "sum";
    case Function::mean: return "mean";
    case Function::max: return "max";
    case Function::min: return "min";
    case Function::prod: return "prod";
    case Function::argmax: return "argmax";
    case Function::argmin: return "argmin";
    case Function::norm: return "norm";
    case Function::sum_squares: return "sum_squares";
    case Function::any: return "any";
    case Function::all: return "all";
  }
  return "?";
}

/// Reduces dimensions of `x` into `y`. Floats are accumulated in f32, i32 and u32 in their own kind
/// (wrapping), except that mean, norm and sum_squares of integers are computed in f32. Results do
/// not depend on the run. Without elements to reduce, `y` gets the neutral value (max: the lowest,
/// mean: NaN); argmax and argmin then fail.
struct Args {
  Function function = Function::sum;
  /// f32, f16, bf16, i32, u32, i8 or u8, any strides. With a chain only its shape counts.
  View x;
  std::uint32_t axes = 0;  ///< Bit i set: dimension i of `x` is reduced.
  /// The shape of `x` with the reduced dimensions left out, or kept with extent 1; any type
  /// (narrow integers go round their range), any strides. argmax and argmin give the row-major
  /// index within the reduced dimensions, the lowest one of equals. May overlap `x`.
  View y;
  fused::Chain chain{};  ///< Optional: what x is computed by, without being stored.
};

/// The mask that reduces every dimension of `view`.
constexpr std::uint32_t all_axes(const View& view) { return (1U << view.rank) - 1U; }

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

/// How many tiles Traits::reduce_tile chooses among.
std::uint32_t reduce_tile_count();

}  // namespace weft::ops::reduce
