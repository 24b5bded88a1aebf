#pragma once

#include <cstdint>
#include <optional>

#include "weft/ops.hpp"

namespace weft {

// Affine quantization: x ≈ (q - zero_point) · scale with whole numbers q of 8 bits. Scale and zero point are one number, or one
// for each place along an axis ([channels]), or one for each group of neighbours along it (the shape of x with the extent along the
// axis divided by the size of a group). Blocks of GGUF files are types of their own (docs/types.md).

/// Choices for quantize() and requantize().
struct QuantizeOptions {
  Tensor zero_point;        ///< i32 or the type of q, of the shape of the scale; left out: 0.
  int axis = -1;            ///< The one that a scale with dimensions goes along.
  std::uint64_t group = 0;  ///< Elements that share a scale; 0: the scale is [channels].
  DType dtype = DType::i8;  ///< i8 or u8.
};
/// round(x / scale) + zero_point, brought into the range of i8 or u8. Halves go to the even neighbour, NaN counts as 0.
Tensor quantize(In x, const Tensor& scale, const QuantizeOptions& options = {});

/// Choices for dequantize().
struct DequantizeOptions {
  Tensor zero_point;
  int axis = -1;
  std::uint64_t group = 0;
  DType dtype = DType::f32;  ///< Of the result: f32, f16 or bf16.
};
/// (q - zero_point) · scale for q of i8, u8 or i32.
Tensor dequantize(In q, const Tensor& scale, const DequantizeOptions& options = {});

/// Numbers of 4 bits, two in each byte of u8 […, n / 2]: the first in the low half. From whole numbers of i8 (-8 to 7) or u8 (0 to
/// 15), of which the lowest 4 bits are kept.
Tensor pack_int4(In q);
/// The numbers of pack_int4() as i8, or as u8 where they have no sign.
Tensor unpack_int4(In packed, bool with_sign = true);

/// What was quantized with a scale that was measured.
struct Quantized {
  Tensor values;      ///< i8 or u8.
  Tensor scale;       ///< f32, one for all or one for each row.
  Tensor zero_point;  ///< i32, of the shape of the scale; empty where it is 0.
};
/// Choices for quantize_dynamic().
struct QuantizeDynamicOptions {
  bool per_row =
      false;  ///< A scale for each row along the last dimension ([…, 1]) instead of one for all.
  bool symmetric =
      true;  ///< i8 from -127 to 127 without a zero point; otherwise u8 from the least to the largest element and 0.
};
/// Quantizes with the range of the elements themselves. Zeros stay zeros.
Quantized quantize_dynamic(In x, const QuantizeDynamicOptions& options = {});

/// Choices for fake_quantize().
struct FakeQuantizeOptions {
  Tensor zero_point;
  int axis = -1;
  std::int32_t low = -128;  ///< The range of the whole numbers.
  std::int32_t high = 127;
};
/// What is left of x after quantizing and back, as x's type, for training. The gradient goes straight through where x is in range,
/// and is 0 elsewhere.
Tensor fake_quantize(In x, const Tensor& scale, const FakeQuantizeOptions& options = {});

/// The exact products of whole numbers a […, M, K] and b […, K, N] of i8 or u8 each, less their zero points, as i32 (sums go round its
/// range): Σ (a - a_zero) · (b - b_zero). a_zero is one i32 or one for each row [M], b_zero one or one for each column [N]. Batches
/// broadcast.
Tensor matmul_integer(In a, const Tensor& b, const Tensor& a_zero = {}, const Tensor& b_zero = {});

/// round(x · scale) + zero_point for sums x of i32: quantize() by 1 / scale.
Tensor requantize(In x, const Tensor& scale, const QuantizeOptions& options = {});

/// x […, K] times the rows of an i8 weight [M, K] with a scale (one, or [M]), plus a bias [M]: rows of x are quantized to i8, their
/// products with the weight are exact, and the result has the type of x.
Tensor linear_int8(In x, const Tensor& weight, const Tensor& scale, const Tensor& bias = {});

}  // namespace weft
