#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/caps.hpp"

namespace weft::ops {

/// Invocations in a workgroup of kernels that do well with many sizes: 256 where the device has as
/// many, else what it has as a power of two. Templates know it as WORKGROUP.
constexpr std::uint32_t workgroup_width(const Caps& caps) {
  return std::min(256U, std::bit_floor(caps.workgroup_invocations));
}

}  // namespace weft::ops
