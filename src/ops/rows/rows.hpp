#pragma once

#include "ops/plan.hpp"

namespace weft::ops::rows {

/// y[…, r, c] = table[…, indices[…, r], c] (+ plus[…, r, c]). An index outside the table counts as
/// a row of zeros.
struct GetArgs {
  View
      table;  ///< […, N, C] of f32, f16, bf16 or i32; leading dimensions broadcast to those of `y`.
  View indices;  ///< […, R] of i32 or i64; leading dimensions broadcast to those of `y`.
  View y;        ///< […, R, C] of f32, f16 or bf16, or i32 for an i32 table.
  /// Optional: two u32 that the caller has set to 0. The first grows by the number of indices
  /// outside the table, the second becomes the complement (~) of the lowest row-major position of
  /// such an index in […, R].
  View status{};
  /// Optional, for floats: what is added. Has the type, the shape and the strides of `y`, and may
  /// be the same view.
  View plus{};
};

/// table[…, indices[…, r], c] = source[…, r, c]. Rows with an index outside the table go nowhere.
/// Where an index appears twice, each element of that row comes from one of the two.
struct SetArgs {
  View source;    ///< […, R, C] of f32, f16, bf16 or i32; leading dimensions broadcast to those of
                  ///< `table`.
  View indices;   ///< […, R] of i32 or i64; leading dimensions broadcast to those of `table`.
  View table;     ///< […, N, C] of f32, f16 or bf16, or i32 for an i32 source.
  View status{};  ///< As for GetArgs.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const GetArgs& args, const Caps& caps);
Result<Plan> plan(const SetArgs& args, const Caps& caps);

}  // namespace weft::ops::rows
