#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "card_memory.hpp"
#include "device.hpp"
#include "pci.hpp"

namespace weft::plugin {
namespace {

/// The machine's memory in bytes, from lines such as "MemTotal:  16384 kB".
MemoryFigures host_memory() {
  MemoryFigures figures;
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "MemTotal:" && file >> kib) figures.total = kib << 10U;
    if (word == "MemAvailable:" && file >> kib) figures.free = kib << 10U;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return figures;
}

}  // namespace

MemoryFigures memory_figures(const gpu::AdapterInfo& info, const std::string& address,
                             std::uint64_t in_use) {
  if (info.kind == "software" || info.kind == "integrated") return host_memory();
  if (const auto figures = nvidia_memory("libnvidia-ml.so.1", address, info.name)) return *figures;
  if (const auto figures = amd_memory(pci_devices, address)) return *figures;
  const std::uint64_t total = info.memory != 0 ? info.memory : info.caps.max_buffer;
  return {total - std::min(in_use, total), total};
}

}  // namespace weft::plugin
