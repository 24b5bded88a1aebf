#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.hpp"

namespace weft::gpu {

/// Whether the process may still map so many bytes, where its address space is limited (ulimit -v). Drivers and their compilers
/// abort when they get no memory, so this is asked before they are called.
Status check_address_space(std::uint64_t bytes, std::string_view what);

// What is asked for in front of a step, measured with Mesa's software driver: more than it needs, because it cannot say that it
// ran out.
inline constexpr std::uint64_t space_to_open = std::uint64_t{1} << 30;
inline constexpr std::uint64_t space_to_compile = std::uint64_t{192} << 20;
inline constexpr std::uint64_t space_beside_a_buffer = std::uint64_t{64} << 20;

}  // namespace weft::gpu
