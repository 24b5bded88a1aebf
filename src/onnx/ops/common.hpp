#pragma once

#include "weft/tensor.hpp"

namespace weft::onnx {

/// The tensor as a type, where it has another one.
inline Tensor as(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : x.to(dtype); }

}  // namespace weft::onnx
