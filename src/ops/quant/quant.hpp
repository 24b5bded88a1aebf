#pragma once

#include "ops/plan.hpp"

namespace weft::ops::quant {

/// Values out of the blocks of a quantized tensor: y = table, or with indices y[…, r, c] = table[…,
/// indices[…, r], c], where an index outside the table gives a row of zeros.
struct DecodeArgs {
  View table;  ///< A quantized type: the shape of `y`, or […, N, C] with leading dimensions that
               ///< broadcast.
  View y;      ///< f32, f16 or bf16, any strides; […, R, C] with indices.
  View
      indices{};  ///< Optional: […, R] of i32 or i64; leading dimensions broadcast to those of `y`.
};

/// Values into blocks: table = x, or with indices table[…, indices[…, r], c] = x[…, r, c], where
/// rows with an index outside the table go nowhere.
struct EncodeArgs {
  View x;      ///< f32, f16 or bf16, any strides; […, R, C] with indices.
  View table;  ///< A quantized type of can_quantize(): the shape of `x`, or […, N, C].
  View
      indices{};  ///< Optional: […, R] of i32 or i64; leading dimensions broadcast to those of `x`.
};

/// y = x for two tensors of one quantized type and shape.
struct CopyArgs {
  View x;
  View y;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const DecodeArgs& args, const Caps& caps);
Result<Plan> plan(const EncodeArgs& args, const Caps& caps);
Result<Plan> plan(const CopyArgs& args, const Caps& caps);

}  // namespace weft::ops::quant
