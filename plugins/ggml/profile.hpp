#pragma once

#include <cstdint>

#include "device.hpp"

namespace weft::plugin {

/// What WEFT_PROFILE asks for.
enum class Profiling : std::uint8_t {
  none,
  kernels,  ///< Every launch, and what the host does.
  graphs,   ///< Graphs as a whole.
};
Profiling profiling();

/// Reports what a profiled device has done since the last report, as WEFT_PROFILE says: a table on
/// the standard error, and a trace in the file that it names.
void report_profile(DeviceContext& device);

}  // namespace weft::plugin
