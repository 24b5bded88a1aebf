#pragma once

// Internal to src/gpu: the places where WebGPU is called ask here whether the call shall fail. Only
// the build of this layer for fault_tests (WEFT_FAULTS) has anything to answer; in every other
// build the question costs nothing.

#include <cstdint>
#include <string_view>

#include "gpu/native.hpp"

namespace weft::gpu {

/// The kinds of calls that can fail.
enum class Call : std::uint8_t { buffer, pipeline, map, submit, scope, device, work };

#ifdef WEFT_FAULTS

/// What shall happen: the `number`th call (from 1 on) of one kind, or of all kinds together, fails;
/// or the device is lost right in front of it.
struct FaultPlan {
  std::string_view kind = "any";  ///< A kind by name, or "any".
  std::uint64_t number = 0;       ///< 0: nothing happens, calls are only counted.
  bool lose = false;
  std::uint64_t one_of = 0;  ///< One of so many calls does, at random.
};

/// Starts counting anew. WEFT_FAULT=kind:n does the same for a whole process ("lose:kind:n" loses
/// the device; "random:n" lets one of n calls fail).
void set_faults(const FaultPlan& plan);
/// The calls counted since; of the plan's kind.
std::uint64_t counted_calls();

/// Whether the call that comes now shall fail. `device` may be null.
bool fails_now(Call call, const wgpu::Device& device);

#else

constexpr bool fails_now(Call /*call*/, const wgpu::Device& /*device*/) { return false; }

#endif

}  // namespace weft::gpu
