#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"

namespace weft::gpu {

/// Whether the process may still map so many bytes, where its address space or its memory is
/// limited (ulimit -v, -d). Drivers and their compilers abort when they get no memory, so this is
/// asked before they are called.
Status check_address_space(std::uint64_t bytes, std::string_view what);

/// Whether the process may make files of that size (ulimit -f). Mesa's software driver keeps memory
/// in files without a name, and ends with SIGBUS where they cannot grow.
Status check_file_size(std::uint64_t bytes, std::string_view what);

/// Whether the process may open so many more files (ulimit -n): a driver that cannot open its own
/// is one that is not there.
Status check_descriptors(std::size_t count, std::string_view what);

/// Whether so many threads can be started (ulimit -u, and the limit that containers have). Mesa's
/// software driver waits for ever for one that it did not get.
Status check_threads(std::size_t count, std::string_view what);

/// Those that WebGPU and the software driver start: a dozen, and one for each core.
std::size_t threads_to_open();

// What is asked for in front of a step, measured with Mesa's software driver: more than it needs,
// because it cannot say that it ran out.
inline constexpr std::uint64_t space_to_open = std::uint64_t{1} << 30;
inline constexpr std::uint64_t file_to_open = std::uint64_t{64} << 20;
inline constexpr std::size_t files_to_open = 8;
inline constexpr std::uint64_t space_to_compile = std::uint64_t{192} << 20;
inline constexpr std::uint64_t space_beside_a_buffer = std::uint64_t{64} << 20;

}  // namespace weft::gpu
