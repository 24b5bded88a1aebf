#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <vector>

#include "weft/device.hpp"

// What the memory of a device is used for, how much of it may be, and uploads beside other work.

namespace weft {

/// Buffers of one size.
struct MemoryClass {
  std::uint64_t bytes = 0;  ///< Of each.
  std::uint64_t used = 0;   ///< How many something holds.
  std::uint64_t kept = 0;   ///< How many are kept for reuse.
};

/// Where the bytes of a device's buffers are.
struct MemoryReport {
  std::uint64_t in_use = 0;  ///< Of buffers that tensors and compiled functions hold.
  std::uint64_t asked =
      0;  ///< Of these, what was asked for; the rest is rounding to sizes that meet again.
  std::uint64_t pooled = 0;          ///< Kept for reuse.
  std::uint64_t peak = 0;            ///< Most in use so far.
  std::uint64_t staging = 0;         ///< Of buffers that the host reads results from.
  std::uint64_t limit = 0;           ///< What set_memory_limit() was given; 0: none.
  std::vector<MemoryClass> classes;  ///< Smallest first.
  double fragmentation = 0;  ///< The share of all bytes on the device that hold nothing: 0 where
                             ///< every byte was asked for.
};
[[nodiscard]] MemoryReport memory_report(const Device& device);

/// Gives all buffers that nothing holds back to the driver, once what is queued is done; how many
/// bytes these were. Buffers that something holds stay where they are, each in one piece, so that
/// what is given back is whole as well.
std::uint64_t defragment(const Device& device);

/// What the listener of a limit is told.
struct MemoryEvent {
  bool full = false;  ///< A buffer does not fit and is tried once more after the call; else much of
                      ///< the limit is in use now.
  std::uint64_t in_use = 0;
  std::uint64_t pooled = 0;
  std::uint64_t limit = 0;
  std::uint64_t asked = 0;  ///< Bytes of the buffer that this is about.
};
/// Buffers of the device may have so many bytes in all: unused ones make way, and then calls throw
/// out_of_memory; 0: as many as the device has. `listener` is called by the thread that allocates:
/// when the share `near` of the limit is in use (once, until it is less again), and when a buffer
/// does not fit. It may let tensors go, and must not compute anything.
void set_memory_limit(const Device& device, std::uint64_t bytes,
                      std::function<void(const MemoryEvent&)> listener = {}, double near = 0.9);

/// An upload under way.
class Upload {
 public:
  /// Whether get() would return without waiting.
  [[nodiscard]] bool ready() const;
  /// Waits and gives the tensor, once.
  [[nodiscard]] Tensor get();

 private:
  friend Upload upload(const Device& device, DType dtype, const Shape& shape,
                       std::span<const std::byte> bytes);
  std::future<Tensor> tensor_;
};
/// Begins to bring elements to the device by a thread of its own, beside what the caller and the
/// device do; `bytes` stay as they are until get() has returned. The device copies them in turn
/// with its other work.
[[nodiscard]] Upload upload(const Device& device, DType dtype, const Shape& shape,
                            std::span<const std::byte> bytes);

/// What a device is and what it is good at, as numbers: for sizes of one's own kernels and batches.
struct DeviceHints {
  std::uint32_t workgroup = 0;         ///< Invocations of a workgroup that suit most kernels.
  std::uint32_t most_invocations = 0;  ///< The most that a workgroup can have.
  std::uint32_t workgroup_bytes = 0;   ///< Of workgroup memory.
  std::uint32_t most_workgroups = 0;   ///< In each dimension of a grid.
  std::uint32_t subgroup_min = 0;      ///< 0 where there are no subgroups, as the next.
  std::uint32_t subgroup_max = 0;
  std::uint32_t binding_alignment = 0;  ///< Offsets of bindings are multiples of so many bytes.
  std::uint32_t most_bindings = 0;      ///< Storage buffers of a kernel.
  std::uint64_t max_binding_bytes = 0;
  std::uint64_t max_buffer_bytes = 0;
  std::uint32_t processors =
      0;  ///< That run workgroups by themselves; an estimate for devices that are not known.
  double memory_rate = 0;          ///< Bytes per nanosecond; an estimate, as the next three.
  std::uint64_t cache_bytes = 0;   ///< Of the last cache.
  std::uint64_t launch_bytes = 0;  ///< Bytes read in the time that a launch costs.
  double f16_rate = 1;             ///< Operations of f16 in the time of one of f32.
  bool matrix_units = false;       ///< Products of matrices have units of their own.
};
[[nodiscard]] DeviceHints device_hints(const Device& device);

/// The type and shape of a tensor.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
};
/// Whether a device computes something.
struct Support {
  bool supported = false;
  std::string reason;          ///< Why not: the sentence that the call would throw.
  std::size_t dispatches = 0;  ///< Kernel launches of one call.
};
/// Whether `function` (see compile()) can be computed on the device with inputs of these types and
/// shapes. It is written down and planned for the device; nothing is compiled or run:
/// supports(device, {{DType::f16, {8, 64}}}, [](auto& x) { return softmax(x[0]); }).
[[nodiscard]] Support supports(const Device& device, const std::vector<TensorType>& inputs,
                               const std::function<Tensor(const std::vector<Tensor>&)>& function);

}  // namespace weft
