#include <fstream>
#include <limits>
#include <string>

#include "device.hpp"

namespace weft::plugin {
namespace {

/// The machine's memory in bytes, from lines such as "MemTotal:  16384 kB".
MemoryFigures host_memory() {
  MemoryFigures figures;
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kib = 0;
    if (word == "MemTotal:" && file >> kib) figures.total = kib << 10;
    if (word == "MemAvailable:" && file >> kib) figures.free = kib << 10;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return figures;
}

}  // namespace

MemoryFigures memory_figures(const gpu::AdapterInfo& /*info*/, std::uint64_t /*in_use*/) {
  return host_memory();
}

}  // namespace weft::plugin
