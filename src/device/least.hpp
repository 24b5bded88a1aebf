#pragma once

#include <cstdint>

namespace weft {

/// Invocations of a workgroup that every device has: the library's own kernels get by with as many,
/// or say that they cannot.
inline constexpr std::uint32_t least_invocations = 64;

}  // namespace weft
