#include "weft/memory.hpp"

#include <chrono>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/format.hpp"
#include "gpu/memory.hpp"
#include "graph/node.hpp"
#include "ops/workgroup.hpp"

namespace weft {
namespace {

gpu::Device handle_of(const Device& device) {
  const auto& data = Access::data(device);
  const std::lock_guard lock(data->mutex);
  return data->device;
}

}  // namespace

MemoryReport memory_report(const Device& device) {
  const gpu::MemoryReport found = gpu::memory_report(handle_of(device));
  MemoryReport report{.in_use = found.stats.in_use,
                      .asked = found.asked,
                      .pooled = found.stats.pooled,
                      .peak = found.stats.peak,
                      .staging = found.stats.staging,
                      .limit = found.limit};
  for (const gpu::MemoryClass& one : found.classes) {
    report.classes.push_back({one.bytes, one.used, one.kept});
  }
  const std::uint64_t all = report.in_use + report.pooled;
  if (all > 0) {
    report.fragmentation = 1 - static_cast<double>(report.asked) / static_cast<double>(all);
  }
  return report;
}

std::uint64_t defragment(const Device& device) {
  gpu::Device handle = handle_of(device);
  unwrap(handle.synchronize());
  const auto all = [&] {
    const gpu::MemoryStats stats = handle.memory();
    return stats.in_use + stats.pooled + stats.staging;
  };
  const std::uint64_t before = all();
  handle.trim();
  const std::uint64_t after = all();
  return before > after ? before - after : 0;
}

void set_memory_limit(const Device& device, std::uint64_t bytes,
                      std::function<void(const MemoryEvent&)> listener, double near) {
  if (!(near >= 0 && near <= 1)) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("set_memory_limit needs a share between 0 and 1; it was given {}.", near));
  }
  gpu::MemoryLimit limit{.bytes = bytes, .near = near, .notice = {}};
  if (listener) {
    limit.notice = [told = std::move(listener)](const gpu::MemoryEvent& event) {
      told({event.full, event.in_use, event.pooled, event.limit, event.asked});
    };
  }
  gpu::set_memory_limit(handle_of(device), std::move(limit));
}

bool Upload::ready() const {
  return tensor_.valid() && tensor_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

Tensor Upload::get() {
  if (!tensor_.valid()) {
    throw Error(ErrorCode::invalid_argument, "The tensor of an upload can be had once.");
  }
  return tensor_.get();
}

Upload upload(const Device& device, DType dtype, const Shape& shape,
              std::span<const std::byte> bytes) {
  const auto work = [device, dtype, shape, bytes] { return device.tensor(dtype, shape, bytes); };
  Upload out;
  try {
    out.tensor_ = std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    // No thread can be had, as in the browser: get() does it.
    out.tensor_ = std::async(std::launch::deferred, work);
  }
  return out;
}

DeviceHints device_hints(const Device& device) {
  const Caps caps = handle_of(device).caps();
  const Traits& traits = caps.traits;
  return {.workgroup = ops::workgroup_width(caps),
          .most_invocations = caps.workgroup_invocations,
          .workgroup_bytes = caps.workgroup_bytes,
          .most_workgroups = caps.max_workgroups,
          .subgroup_min = caps.subgroups ? caps.subgroup_min : 0,
          .subgroup_max = caps.subgroups ? caps.subgroup_max : 0,
          .binding_alignment = caps.binding_alignment,
          .most_bindings = caps.max_bindings,
          .max_binding_bytes = caps.max_binding,
          .max_buffer_bytes = caps.max_buffer,
          .processors = traits.processors,
          .memory_rate = traits.memory_rate,
          .cache_bytes = traits.cache_bytes,
          .launch_bytes = traits.launch_bytes,
          .f16_rate = traits.f16_rate,
          .matrix_units = caps.subgroup_matrix && traits.matrix_units};
}

}  // namespace weft
