#pragma once

#include "ops/rope/rope.hpp"

namespace weft::ops::rope {

/// Frequencies are products of this many powers of the base, so pairs have numbers of as many bits.
inline constexpr std::uint32_t power_bits = 12;
/// Most elements that turn.
inline constexpr std::uint32_t most_dims = 2U << power_bits;

/// Whether tokens have several positions, one for each section of the pairs.
bool has_sections(Mode mode);

/// Whether two tensors turn by the same angles.
bool same_turns(const Args& a, const Args& b);

/// What is wrong with the arguments, if anything.
Status check(const Args& args);

}  // namespace weft::ops::rope
