#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/image.hpp"
#include "weft/ops.hpp"

namespace weft {

// Affine quantization: x ≈ (q - zero_point) · scale with whole numbers q of 8 bits. Scale and zero
// point are one number, or one for each place along an axis ([channels]), or one for each group of
// neighbours along it (the shape of x with the extent along the axis divided by the size of a
// group). Blocks of GGUF files are types of their own (docs/types.md).

/// Choices for quantize() and requantize().
struct QuantizeOptions {
  Tensor zero_point;        ///< i32 or the type of q, of the shape of the scale; left out: 0.
  int axis = -1;            ///< The one that a scale with dimensions goes along.
  std::uint64_t group = 0;  ///< Elements that share a scale; 0: the scale is [channels].
  DType dtype = DType::i8;  ///< i8 or u8.
  std::optional<int> low;   ///< The least number, where it is not that of the type: -8 for 4 bits.
  std::optional<int> high;  ///< The largest: 7 for 4 bits with a sign, 15 without.
};
/// round(x / scale) + zero_point, brought into the range of i8 or u8. Halves go to the even
/// neighbour, NaN counts as 0.
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

/// Numbers of 4 bits, two in each byte of u8 […, n / 2]: the first in the low half. From whole
/// numbers of i8 (-8 to 7) or u8 (0 to 15), of which the lowest 4 bits are kept.
Tensor pack_int4(In q);
/// The numbers of pack_int4() as i8, or as u8 where they have no sign.
Tensor unpack_int4(In packed, bool with_sign = true);

/// The bits of floats of 8 bits as u8: "e4m3" (four bits of exponent and three behind it: up to
/// 448, NaN and no infinity) or "e5m2" (up to 57344, infinity and NaN). Halves go to the even
/// neighbour; what is too large becomes NaN, or infinity in e5m2; -0 stays what it is. safetensors
/// files give their F8 tensors as such bits.
Tensor to_f8(In x, std::string_view format = "e4m3");
/// The numbers with such bits; f16 and f32 hold all of them, bf16 too.
Tensor from_f8(In bits, std::string_view format = "e4m3", DType dtype = DType::f32);

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
  bool symmetric = true;  ///< i8 from -127 to 127 without a zero point; otherwise u8 from the least
                          ///< to the largest element and 0.
};
/// Quantizes with the range of the elements themselves. Zeros stay zeros.
Quantized quantize_dynamic(In x, const QuantizeDynamicOptions& options = {});

/// Choices for quantization_range().
struct QuantizationRangeOptions {
  std::string_view method = "min_max";  ///< "min_max": all elements; "percentile": a share of them;
                                        ///< "entropy": the range of -t to t that keeps most of
                                        ///< their distribution, where 8 bits are too few for all.
  double percentile = 99.9;  ///< The share, in percent, of elements not above the upper end and not
                             ///< below the lower.
  std::uint64_t bins = 2048;  ///< How finely "entropy" looks at the elements: at least 256.
};
/// A range of numbers that whole numbers shall stand for.
struct QuantizationRange {
  Tensor low;   ///< f32 [].
  Tensor high;  ///< f32 [].
};
/// The range that elements like those of x should be quantized with: what observers measure. Ranges
/// of several batches join by minimum() and maximum(), or by their means. "entropy" waits, and
/// looks at elements that are neither NaN nor infinite.
QuantizationRange quantization_range(In x, const QuantizationRangeOptions& options = {});

/// How numbers of a range become whole numbers.
struct QuantizationScale {
  Tensor scale;       ///< f32, of the shape of the ends.
  Tensor zero_point;  ///< i32; all 0 where `symmetric`.
};
/// The scale, and zero point, for a range: with `symmetric` i8 from -127 to 127, otherwise u8 from
/// 0 to 255 over a range that is made to hold 0.
QuantizationScale quantization_scale(In low, const Tensor& high, bool symmetric = true);

/// Choices for fake_quantize().
struct FakeQuantizeOptions {
  Tensor zero_point;
  int axis = -1;
  std::uint64_t group = 0;
  std::int32_t low = -128;  ///< The range of the whole numbers.
  std::int32_t high = 127;
};
/// What is left of x after quantizing and back, as x's type, for training. The gradient goes
/// straight through where x is in range, and is 0 elsewhere.
Tensor fake_quantize(In x, const Tensor& scale, const FakeQuantizeOptions& options = {});

/// The exact products of whole numbers a […, M, K] and b […, K, N] of i8 or u8 each, less their
/// zero points, as i32 (sums go round its range): Σ (a - a_zero) · (b - b_zero). a_zero is one i32
/// or one for each row [M], b_zero one or one for each column [N]. Batches broadcast.
Tensor matmul_integer(In a, const Tensor& b, const Tensor& a_zero = {}, const Tensor& b_zero = {});

/// round(x · scale) + zero_point for sums x of i32: quantize() by 1 / scale.
Tensor requantize(In x, const Tensor& scale, const QuantizeOptions& options = {});

/// The exact convolution of whole numbers x [N, C, spatial…] with weights [OC, C / groups, k…] of
/// i8 or u8 each, less their zero points, as i32 (sums go round its range). The zero point of x is
/// one i32 that its type holds, and what lies outside of the image; that of the weights is one, or
/// one for each channel [OC]. `allow_f16` and `more` of the options have no meaning here.
Tensor conv_integer(In x, const Tensor& weights, const ConvOptions& options = {},
                    const Tensor& x_zero = {}, const Tensor& weight_zero = {});

/// What a product of whole numbers gives: with a scale whole numbers again, round(y / scale) +
/// zero_point, otherwise floats y.
struct QuantizedResult {
  Tensor scale;       ///< One, or one for each channel.
  Tensor zero_point;  ///< i32, i8 or u8: one, or one for each channel; left out: 0.
  std::optional<DType>
      dtype;  ///< i8 (the default) or u8 with a scale; f32 (the default), f16 or bf16 without.
};
/// Choices for quantized_linear().
struct QuantizedLinearOptions {
  Tensor x_zero_point;       ///< One i32, i8 or u8; left out: 0.
  Tensor weight_zero_point;  ///< One, or [M].
  Tensor bias;               ///< Floats [M], in units of the result before it is quantized.
  QuantizedResult result;
};
/// y = x_scale · weight_scale · Σ (x - x_zero_point) · (weight - weight_zero_point) + bias for x
/// […, K] and the rows of a weight [M, K] of i8 or u8 each, with exact sums of i32: […, M],
/// quantized again in the same launch where the result has a scale.
Tensor quantized_linear(In x, const Tensor& x_scale, const Tensor& weight,
                        const Tensor& weight_scale, const QuantizedLinearOptions& options = {});

/// Choices for quantized_conv().
struct QuantizedConvOptions {
  Windows windows{};
  std::uint64_t groups = 1;
  Tensor x_zero_point;  ///< One i32, i8 or u8; left out: 0. What lies outside of the image has it.
  Tensor weight_zero_point;  ///< One, or [OC].
  Tensor bias;               ///< Floats [OC], in units of the result before it is quantized.
  QuantizedResult result;
};
/// The same for the convolution of x [N, C, spatial…] with weights [OC, C / groups, k…].
Tensor quantized_conv(In x, const Tensor& x_scale, const Tensor& weights,
                      const Tensor& weight_scale, const QuantizedConvOptions& options = {});

/// x […, K] times the rows of an i8 weight [M, K] with a scale (one, or [M]), plus a bias [M]: rows
/// of x are quantized to i8, their products with the weight are exact, and the result has the type
/// of x.
Tensor linear_int8(In x, const Tensor& weight, const Tensor& scale, const Tensor& bias = {});

}  // namespace weft
