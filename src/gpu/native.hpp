#pragma once

// Internal to src/gpu: the WebGPU header and the few helpers every file here needs.

#include <webgpu/webgpu_cpp.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace weft::gpu {

/// A WebGPU string as a std::string.
inline std::string text(wgpu::StringView view) {
  if (view.data == nullptr) return {};
  return std::string(std::string_view(view));
}

/// Waits for a future without a time limit.
inline Status wait_for(const wgpu::Instance& instance, wgpu::Future future, std::string_view what) {
  wgpu::FutureWaitInfo info;
  info.future = future;
  const wgpu::WaitStatus status =
      instance.WaitAny(1, &info, std::numeric_limits<std::uint64_t>::max());
  if (status != wgpu::WaitStatus::Success) {
    return fail(ErrorCode::internal, "Waiting for {} ended with status {}.", what,
                static_cast<unsigned>(status));
  }
  return {};
}

/// A number that this process has not handed out before. The counter is the one piece of shared
/// state in this layer: identities must differ between devices too, and nothing else depends on it.
inline std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace weft::gpu
