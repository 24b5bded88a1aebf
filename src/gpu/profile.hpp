#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace weft::gpu {

/// One dispatch, or one thing the host did.
struct ProfileEvent {
  std::string label;
  double start = 0;          ///< Seconds since the device was created.
  double seconds = 0;        ///< How long it took.
  std::uint64_t thread = 0;  ///< For host events: a small number per thread.
  std::string note{};        ///< For dispatches: what was said about this one, such as its shapes.
};

/// What a profiled device has done.
struct Profile {
  std::vector<ProfileEvent> gpu;   ///< Dispatches; their start is fitted to the host's clock.
  std::vector<ProfileEvent> host;  ///< Compiling, submitting, waiting, reading, writing.
};

/// A table with one row per label: count, total, mean, shortest, longest, share; longest total
/// first.
std::string profile_table(const Profile& profile);

/// The profile in Chrome's trace event format, which Perfetto opens.
std::string profile_trace(const Profile& profile);

/// Writes profile_trace() to a file.
Status write_trace(const Profile& profile, const std::filesystem::path& file);

}  // namespace weft::gpu
