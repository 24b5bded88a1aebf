#pragma once

#include <cstdint>

#include "onnx/proto.hpp"

namespace weft::onnx {

/// The value of a float of 8 or 4 bits.
double small_float(Type type, std::uint8_t bits);
/// The nearest float of 8 or 4 bits, ties to even; what is too large becomes the largest one when
/// it saturates, else infinity or NaN.
std::uint8_t small_float_bits(Type type, float value, bool saturate);

}  // namespace weft::onnx
