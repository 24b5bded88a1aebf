#pragma once

#include <algorithm>
#include <cstdint>

#include "device/caps.hpp"

namespace weft::ops {

/// The size of subgroups that a kernel counts on: the device's only one, or of several the one next
/// to `wanted`, which the kernel asks for (Features::subgroup_size, {{ASK}}). 0 where it is not
/// sure what comes.
constexpr std::uint32_t sure_subgroup(const Caps& caps, std::uint32_t wanted = 32) {
  if (!caps.subgroups) return 0;
  if (caps.subgroup_min == caps.subgroup_max) return caps.subgroup_max;
  return caps.subgroup_control ? std::clamp(wanted, caps.subgroup_min, caps.subgroup_max) : 0;
}

/// What such a kernel asks for: nothing where all subgroups have that size.
constexpr std::uint32_t asked_subgroup(const Caps& caps, std::uint32_t size) {
  return caps.subgroup_min == caps.subgroup_max ? 0 : size;
}

}  // namespace weft::ops
