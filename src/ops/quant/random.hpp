#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.hpp"

namespace weft::ops {
class Random;
}

namespace weft::ops::quant {

/// Random blocks of a quantized type: every bit pattern of the levels, and scales that keep values
/// within about ±`size`.
std::vector<std::byte> random_blocks(DType type, std::uint64_t count, double size, Random& random);

}  // namespace weft::ops::quant
