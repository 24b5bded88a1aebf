#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/gpu.hpp"

// What the memory of a device is used for, and how much of it may be.

namespace weft::gpu {

/// Buffers of one size.
struct MemoryClass {
  std::uint64_t bytes = 0;  ///< Of each.
  std::uint64_t used = 0;   ///< How many have a handle.
  std::uint64_t kept = 0;   ///< How many are kept for reuse.
};

/// Where the bytes of a device's buffers are.
struct MemoryReport {
  MemoryStats stats;
  std::uint64_t asked =
      0;  ///< Of the bytes in use, those that were asked for: the rest is what rounding added.
  std::uint64_t limit = 0;           ///< See MemoryLimit; 0: none.
  std::vector<MemoryClass> classes;  ///< Smallest first.
};
MemoryReport memory_report(const Device& device);

/// Something that whoever set a limit wants to know.
struct MemoryEvent {
  bool full = false;  ///< A buffer does not fit, and will be asked for once more; else much of the
                      ///< limit is in use now.
  std::uint64_t in_use = 0;
  std::uint64_t pooled = 0;
  std::uint64_t limit = 0;
  std::uint64_t asked = 0;  ///< Bytes of the buffer that this is about.
};

/// How many bytes the buffers of a device may have. Kept ones go first; then allocations fail.
struct MemoryLimit {
  std::uint64_t bytes = 0;  ///< 0: as many as the device has.
  double near =
      0.9;  ///< The share of them from which on `notice` is called, once until it is less again.
  std::function<void(const MemoryEvent&)> notice;
};
void set_memory_limit(const Device& device, MemoryLimit limit);

}  // namespace weft::gpu
