#pragma once

#include "weft/tensor.hpp"

namespace weft::onnx {

/// round(x / scale) + zero, held inside of an integer type; scale and zero broadcast, and may be
/// left out.
Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype);

/// x as u8 with the scale and the zero point that its own range gives.
struct Dynamic {
  Tensor y;
  Tensor scale;
  Tensor zero;
};
Dynamic dynamically_quantized(const Tensor& x);

}  // namespace weft::onnx
