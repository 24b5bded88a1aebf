#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
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
    if (word == "MemTotal:" && file >> kib) figures.total = kib << 10U;
    if (word == "MemAvailable:" && file >> kib) figures.free = kib << 10U;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return figures;
}

/// NVIDIA's management library knows what all processes use; it is part of the driver.
std::optional<MemoryFigures> nvidia_memory(const std::string& name) {
  struct Memory {  // nvmlMemory_t
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<int (*)()>(dlsym(library, "nvmlShutdown"));
  const auto count = reinterpret_cast<int (*)(unsigned*)>(dlsym(library, "nvmlDeviceGetCount_v2"));
  const auto by_index =
      reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
  const auto get_name =
      reinterpret_cast<int (*)(void*, char*, unsigned)>(dlsym(library, "nvmlDeviceGetName"));
  const auto get_memory =
      reinterpret_cast<int (*)(void*, Memory*)>(dlsym(library, "nvmlDeviceGetMemoryInfo"));
  std::optional<MemoryFigures> figures;
  unsigned devices = 0;
  if (init != nullptr && shutdown != nullptr && count != nullptr && by_index != nullptr &&
      get_name != nullptr && get_memory != nullptr && init() == 0) {
    if (count(&devices) != 0) devices = 0;
    for (unsigned i = 0; i < devices && !figures; ++i) {
      void* device = nullptr;
      std::array<char, 96> text{};
      Memory memory{};
      if (by_index(i, &device) == 0 && get_name(device, text.data(), text.size()) == 0 &&
          name.contains(text.data()) && get_memory(device, &memory) == 0) {
        figures = MemoryFigures{memory.free, memory.total};
      }
    }
    shutdown();
  }
  dlclose(library);
  return figures;
}

/// The kernel's figures for AMD's GPUs, of the first card that has as much memory as the adapter.
std::optional<MemoryFigures> amd_memory(std::uint64_t total) {
  std::error_code error;
  for (const auto& card : std::filesystem::directory_iterator("/sys/class/drm", error)) {
    std::ifstream size(card.path() / "device/mem_info_vram_total");
    std::ifstream use(card.path() / "device/mem_info_vram_used");
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;
    if (size >> bytes && use >> used && bytes >= total / 10 * 9) {
      return MemoryFigures{bytes - std::min(used, bytes), bytes};
    }
  }
  return std::nullopt;
}

}  // namespace

MemoryFigures memory_figures(const gpu::AdapterInfo& info, std::uint64_t in_use) {
  if (info.kind == "software" || info.kind == "integrated") return host_memory();
  if (const auto figures = nvidia_memory(info.name)) return *figures;
  if (const auto figures = amd_memory(info.memory)) return *figures;
  const std::uint64_t total = info.memory != 0 ? info.memory : info.caps.max_buffer;
  return {total - std::min(in_use, total), total};
}

}  // namespace weft::plugin
