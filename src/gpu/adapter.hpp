#pragma once

#include <string_view>
#include <vector>

#include "device/toggles.hpp"
#include "gpu/gpu.hpp"
#include "gpu/host.hpp"
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
  Host host;
  std::vector<Candidate> candidates;
};

/// All adapters that this program can reach: of the machine through Dawn (discover_dawn.cpp), or
/// the one that a browser gives to a page (discover_page.cpp).
Result<Discovery> discover();

/// What WebGPU says about an adapter.
AdapterInfo describe(const wgpu::Adapter& adapter, std::uint32_t index);

/// The candidate that `wanted` means (see DeviceOptions::adapter), or an error that lists them all.
Result<Candidate> choose(const Discovery& discovery, std::string_view wanted);

/// The names of the toggles of a stage that a mode sets on, or off.
std::vector<const char*> toggle_names(ToggleStage stage, Mode mode, bool on);

}  // namespace weft::gpu
