#pragma once

#include "weft/in.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// f(x), computed in f32: x of 16 bits is brought there, and the result back.
template <class Function>
Tensor in_f32(In x, const Function& f) {
  const bool half = x.tensor && (x.tensor.dtype() == DType::f16 || x.tensor.dtype() == DType::bf16);
  if (!half) return f(x);
  return f(In(x.tensor.to(DType::f32, x.where), x.where)).to(x.tensor.dtype(), x.where);
}

}  // namespace weft
