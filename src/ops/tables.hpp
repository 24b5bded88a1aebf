#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.hpp"
#include "ops/plan.hpp"

namespace weft::ops {

/// The words of a table of constants that kernels read; empty for a number that no table has. What runs plans uploads
/// each table once per device and binds it where a launch has its slot.
std::span<const std::uint32_t> table_words(int slot);

/// Adds the codebook of a quantized type to a launch, as the operand `codebook`; most types have none.
void add_codebook(Launch& launch, DType type);

}  // namespace weft::ops
