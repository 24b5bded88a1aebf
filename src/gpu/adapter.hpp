#pragma once

#include <string_view>
#include <vector>

#include "device/toggles.hpp"
#include "gpu/gpu.hpp"
#include "gpu/native.hpp"

namespace weft::gpu {

/// An adapter with what is known about it.
struct Candidate {
  wgpu::Adapter adapter;
  AdapterInfo info;
};

/// An instance and the adapters it sees, in the order of their indices.
struct Discovery {
  wgpu::Instance instance;
  std::vector<Candidate> candidates;
};

Result<Discovery> discover();

/// The candidate that `wanted` means (see DeviceOptions::adapter), or an error that lists them all.
Result<Candidate> choose(const Discovery& discovery, std::string_view wanted);

/// The names of the toggles of a stage that a mode sets on, or off.
std::vector<const char*> toggle_names(ToggleStage stage, Mode mode, bool on);

}  // namespace weft::gpu
