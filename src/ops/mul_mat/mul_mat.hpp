#pragma once

#include <string_view>
#include <vector>

#include "ops/map/functions.hpp"
#include "ops/plan.hpp"

namespace weft::ops::mul_mat {

/// y[…, n, m] = Σ x[…, n, k] · weights[…, m, k], with weights of any type; sums are f32.
struct Args {
  View weights;  ///< […, M, K] of f32, f16, bf16 (any strides) or a quantized type; leading
                 ///< dimensions broadcast.
  View x;        ///< […, N, K] of f32, f16 or bf16, any strides.
  View y;        ///< […, N, M] of f32.
  /// Forces how quantized weights are multiplied: "vector" (few columns at a time, straight from
  /// the blocks), also with the rows that a team of invocations works on ("vector_1", "vector_2",
  /// "vector_4", "vector_8"), "packed" (as integers, x rounded to 8 bits), "decode" (to f16 in
  /// scratch, then as any matrix) or "halve" (also x as f16). Empty: by the number of columns.
  std::string_view kernel = {};
  /// Lets x be rounded to 8 bits, in blocks of 32 with a scale, where that makes products of few
  /// columns faster.
  bool allow_q8 = false;
  /// With quantized weights: nothing is rounded to less than f32, and a row of y has the same bits
  /// whatever N is. Slow for many columns. Other weights keep f32 beside them; their sums depend on
  /// N.
  bool exact = false;
  /// x as the plan of PackArgs made it, where there is such a plan already; only looked at where
  /// wants_packed() says so.
  View packed = {};
  View bias = {};  ///< Optional f32 that broadcasts to y: added to the product. Shares no memory
                   ///< with y, or is y itself.
  std::string_view activation = "none";  ///< A unary function of ops/map that comes last.
  map::Scalars scalars{};                ///< Its parameters.
};

/// y[t, u, m] = Σ x[t, u or 0, k] · weights[ids[t, u], m, k]: each row of x has a matrix of its
/// own. Rows whose id is no matrix become 0.
struct IdArgs {
  View weights;  ///< [E, M, K] as in Args.
  View x;        ///< [T, U or 1, K] of f32, f16 or bf16.
  View ids;      ///< [T, U] of i32.
  View y;        ///< [T, U, M] of f32.
  /// Forces "vector" (one row of x at a time), "packed" (the same, x rounded to 8 bits), "grouped"
  /// (rows of one matrix together) or "matrix" (the same by matrix units). Empty: by their number.
  std::string_view kernel = {};
  bool allow_q8 = false;  ///< As in Args.
  bool exact = false;     ///< As in Args, whatever T and U are.
  View packed = {};       ///< As in Args.
};

/// Several products of few columns with the same x in one launch: y[i] = x · weights[i]ᵀ, or, with
/// a gated unit, one y = gated(x · weights[0]ᵀ, x · weights[1]ᵀ). For weights that lie in one
/// buffer; where that cannot be done at once, it fails.
struct JoinArgs {
  std::vector<View>
      weights;  ///< Two or three [M, K] of the same quantized type, for gated units of the same M.
  View x;       ///< [N, K] of f32, N at most 8.
  std::vector<View> y;  ///< [N, M] of f32 for each, or one of them; in one buffer, none overlapping
                        ///< x or sharing elements with another one.
  std::string_view gated = "none";  ///< A gated unit of ops/map, such as "swiglu".
  map::Scalars scalars{};           ///< Its parameters.
  bool allow_q8 = false;            ///< As in Args.
  bool exact = false;               ///< As in Args.
  View packed = {};                 ///< As in Args.
  std::vector<View>
      bias{};  ///< None, or [M] of f32 for each of the weights, in one buffer; not for gated units.
  /// Optional, for gated units of packed x: y in packed form, as a second output; overlaps nothing
  /// else.
  View packed_y = {};
};

/// packed = x rounded to 8 bits, for several products with the same x.
struct PackArgs {
  View x;       ///< […, K] of f32, f16 or bf16, K a multiple of 32, at most six dimensions.
  View packed;  ///< As packed_view() says.
};

/// Shape and type of packed x; the slot and the offset (a multiple of 16) are the caller's.
View packed_view(const View& x);

/// True where plan() multiplies packed x, which it makes itself if none is given. Where it is
/// given, that costs nothing, so more products take it.
bool wants_packed(const Args& args, const Caps& caps);
bool wants_packed(const IdArgs& args, const Caps& caps);
bool wants_packed(const JoinArgs& args, const Caps& caps);

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const IdArgs& args, const Caps& caps);
Result<Plan> plan(const JoinArgs& args, const Caps& caps);
Result<Plan> plan(const PackArgs& args, const Caps& caps);

/// How many tiles Traits::few_tile and quantized_tile choose among.
std::uint32_t few_tile_count();
std::uint32_t quantized_tile_count();

}  // namespace weft::ops::mul_mat
