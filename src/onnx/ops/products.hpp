#pragma once

#include "weft/tensor.hpp"

namespace weft::onnx {

/// The product of matrices of integers, of 32 bits for those of 8.
Tensor sums_of_products(const Tensor& a, const Tensor& b);
/// The product (as numpy has it) of 8-bit matrices less their zero points, where these are given:
/// one number, or one for each row of `a` and each column of `b`.
Tensor whole_product(const Tensor& a, const Tensor& a_zero, const Tensor& b, const Tensor& b_zero);

}  // namespace weft::onnx
