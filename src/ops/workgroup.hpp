#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/caps.hpp"
#include "device/least.hpp"

namespace weft::ops {

/// Invocations in a workgroup of kernels that do well with many sizes: 256 where the device has as
/// many, else what it has as a power of two. Templates know it as WORKGROUP.
constexpr std::uint32_t workgroup_width(const Caps& caps) {
  return std::min(256U, std::bit_floor(caps.workgroup_invocations));
}

/// Invocations in a workgroup of kernels that are made for few: every device has as many, and masks
/// leave as many (device/caps.cpp).
constexpr std::uint32_t narrow_workgroup = least_invocations;

/// The size of a workgroup where it is none of workgroup_width(): a member of the Variant, or a
/// Variant of its own. Templates know it as WORKGROUP too.
struct NarrowVariant {
  std::uint32_t workgroup = narrow_workgroup;
};

}  // namespace weft::ops
