#pragma once

#include <cstddef>
#include <span>

#include "base/dtype.hpp"

namespace weft::ops::quant {

/// The values of whole blocks of a quantized type; `values` has as many elements as the blocks.
void dequantize(DType type, std::span<const std::byte> blocks, std::span<float> values);

/// True for the types that values can be quantized to without a model of their importance.
bool can_quantize(DType type);

}  // namespace weft::ops::quant
