#pragma once

#include <cstdint>
#include <vector>

#include "device/caps.hpp"

namespace weft::ops::fft {

/// A pass over memory: a transform of `length` elements by stages of these radices: 2, 4, 8, 16, or
/// odd and below 16.
struct Pass {
  std::uint64_t length = 1;
  std::vector<std::uint32_t> radices;
};

/// As few passes as a device's workgroup memory allows for a transform of n elements; none for one
/// element, and none where a prime factor is larger than 13.
std::vector<Pass> passes_of(std::uint64_t n, const Caps& caps);

/// The length of the circular convolution that a transform of n elements is made of where n has
/// larger prime factors.
std::uint64_t convolution_of(std::uint64_t n, const Caps& caps);

/// Transforms of a pass that a workgroup holds. Those of a `whole` one are rows of their own;
/// others lie side by side.
std::uint32_t together(const Pass& pass, std::uint64_t total, bool whole, const Caps& caps);

/// Invocations for as many: 11 to 16 elements each.
std::uint32_t size_of_group(const Pass& pass, std::uint32_t together, const Caps& caps);

}  // namespace weft::ops::fft
