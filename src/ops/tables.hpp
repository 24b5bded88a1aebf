#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.hpp"
#include "ops/plan.hpp"

namespace weft::ops {

/// The words of a table of constants that kernels read; empty for a number that no table has. What runs plans uploads
/// each table once per device and binds it where a launch has its slot.
std::span<const std::uint32_t> table_words(int slot);

/// The slots of the tables of quantiles of random numbers (random/tables.hpp); those of the codebooks are in front of them.
inline constexpr int normal_table_slot = first_table_slot - 64;
inline constexpr int gumbel_table_slot = first_table_slot - 65;

/// Adds the codebook of a quantized type to a launch, as the operand `codebook`; most types have none.
void add_codebook(Launch& launch, DType type);

}  // namespace weft::ops
