#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.hpp"
#include "ops/plan.hpp"

namespace weft::ops {

/// The words of a table of constants that kernels read; empty for a slot that no table has. What
/// runs plans uploads each table once per device and binds it where a launch has its slot.
std::span<const std::uint32_t> table_words(Slot slot);

/// The slots of the tables of quantiles of random numbers (random/tables.hpp); those of the
/// codebooks are in front of them.
inline constexpr Slot normal_table_slot = Slot::table(64);
inline constexpr Slot gumbel_table_slot = Slot::table(65);

/// Adds the codebook of a quantized type to a launch, as the operand `codebook`; most types have
/// none.
void add_codebook(Launch& launch, DType type);

}  // namespace weft::ops
