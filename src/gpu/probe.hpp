#pragma once

#include "gpu/gpu.hpp"

namespace weft::gpu {

/// The longest that looking at an unknown device may take, in seconds.
inline constexpr double probe_seconds = 0.1;

/// `estimate` with what a few short launches tell about a device: how many workgroups run side by
/// side, what a launch and a barrier cost, how fast memory is, and whether f16 is faster than f32.
/// Begins nothing new past three quarters of `seconds`: what is not measured by then stays as
/// estimated.
Result<Traits> probe(Device device, Traits estimate, double seconds = probe_seconds);

}  // namespace weft::gpu
