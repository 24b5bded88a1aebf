#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::gather {

/// y[i, j, k] = x[i, index[i, j, k], k] for axis 1, and so on: one index per element. An index
/// outside of `x` gives 0. Whole rows are faster with rows::GetArgs.
struct GatherArgs {
  View x;                  ///< f32, f16, bf16 or i32, at most 7 dimensions.
  View index;              ///< i32 or i64; no larger than `x` except along `axis`.
  View y;                  ///< The shape of `index`; a float type, or i32 for an i32 `x`.
  std::uint32_t axis = 0;  ///< The dimension of `x` that the indices count.
  /// Optional, as for rows::GetArgs; positions are counted in `index` with `axis` as its last
  /// dimension.
  View status{};
};

/// y[i, index[i, j, k], k] += source[i, j, k] for axis 1, and so on. The result does not depend on
/// the run: sources of one element are added in order, in f32, and rounded to the type of `y` once.
/// An index outside of `y` adds nothing. Lines of many indices are sorted by counting, which takes
/// scratch of 4 bytes per row of `y` and 8 per index.
struct ScatterAddArgs {
  View source;  ///< The shape of `index`; f32, f16 or bf16, or i32 for an i32 `y`.
  View index;   ///< i32 or i64, no larger than `y` except along `axis`; may repeat (stride 0).
  View y;       ///< f32, f16, bf16 or i32; keeps what it holds and gets the sources on top.
  std::uint32_t axis = 0;  ///< The dimension of `y` that the indices count.
  View status{};  ///< Optional, as for GatherArgs; an index that stands for several columns (stride
                  ///< 0) counts once.
};

/// table[…, indices[…, r], c] += source[…, r, c]: the backward of rows::GetArgs, as a
/// ScatterAddArgs.
struct AddRowsArgs {
  View source;    ///< […, R, C].
  View indices;   ///< […, R] of i32 or i64; leading dimensions broadcast to those of `source`.
  View table;     ///< […, N, C] with the leading dimensions of `source`.
  View status{};  ///< Optional, as for rows::SetArgs.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const GatherArgs& args, const Caps& caps);
Result<Plan> plan(const ScatterAddArgs& args, const Caps& caps);
Result<Plan> plan(const AddRowsArgs& args, const Caps& caps);

}  // namespace weft::ops::gather
