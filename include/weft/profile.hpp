#pragma once

#include <filesystem>
#include <string>

#include "weft/device.hpp"

// How long everything takes that a device and the host do. Kernels are timed one by one, so that
// the whole takes longer.

namespace weft {

/// A device that times what it does.
[[nodiscard]] Device profiled_device(const DeviceChoice& choice = {});

/// What a profiled device has done since the last call.
struct ProfileReport {
  std::string table;  ///< One line per kernel, and per kind of thing that the host did; the longest
                      ///< in all first.
  std::string trace;  ///< In Chrome's trace event format, which Perfetto opens.
};
/// Waits for what is queued. An error for a device that does not time what it does.
[[nodiscard]] ProfileReport take_profile(const Device& device);

}  // namespace weft
