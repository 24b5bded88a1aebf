#include "gpu/memory.hpp"

#include <utility>

#include "gpu/device_state.hpp"

namespace weft::gpu {

MemoryReport memory_report(const Device& device) {
  MemoryReport report;
  report.stats = device.memory();
  Unwrap::state(device)->pool->fill_in(report);
  return report;
}

void set_memory_limit(const Device& device, MemoryLimit limit) {
  Unwrap::state(device)->pool->set_limit(std::move(limit));
}

}  // namespace weft::gpu
