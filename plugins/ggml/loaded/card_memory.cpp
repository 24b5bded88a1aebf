#include "card_memory.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace weft::plugin {
namespace {

struct NvmlMemory {  // nvmlMemory_t
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// The functions of the library that are called here.
class Nvml {
 public:
  explicit Nvml(void* library)
      : init(function<decltype(init)>(library, "nvmlInit_v2")),
        shutdown(function<decltype(shutdown)>(library, "nvmlShutdown")),
        count(function<decltype(count)>(library, "nvmlDeviceGetCount_v2")),
        by_index(function<decltype(by_index)>(library, "nvmlDeviceGetHandleByIndex_v2")),
        by_address(function<decltype(by_address)>(library, "nvmlDeviceGetHandleByPciBusId_v2")),
        get_name(function<decltype(get_name)>(library, "nvmlDeviceGetName")),
        get_memory(function<decltype(get_memory)>(library, "nvmlDeviceGetMemoryInfo")) {}

  [[nodiscard]] bool complete() const {
    return init != nullptr && shutdown != nullptr && count != nullptr && by_index != nullptr &&
           by_address != nullptr && get_name != nullptr && get_memory != nullptr;
  }

  /// The card at a place, or the only one with a name; null where there is none.
  [[nodiscard]] void* card(const std::string& address, const std::string& name) const {
    void* found = nullptr;
    if (!address.empty()) return by_address(address.c_str(), &found) == 0 ? found : nullptr;
    unsigned cards = 0;
    if (count(&cards) != 0) return nullptr;
    unsigned matching = 0;
    for (unsigned i = 0; i < cards; ++i) {
      void* one = nullptr;
      std::array<char, 96> text{};
      if (by_index(i, &one) == 0 && get_name(one, text.data(), text.size()) == 0 &&
          text.front() != '\0' && name.contains(text.data())) {
        found = one;
        ++matching;
      }
    }
    return matching == 1 ? found : nullptr;
  }

  int (*init)();
  int (*shutdown)();
  int (*count)(unsigned*);
  int (*by_index)(unsigned, void**);
  int (*by_address)(const char*, void**);
  int (*get_name)(void*, char*, unsigned);
  int (*get_memory)(void*, NvmlMemory*);

 private:
  template <class Function>
  static Function function(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
  }
};

}  // namespace

std::optional<MemoryFigures> nvidia_memory(const char* library, const std::string& address,
                                           const std::string& name) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return std::nullopt;
  std::optional<MemoryFigures> figures;
  if (const Nvml nvml(opened); nvml.complete() && nvml.init() == 0) {
    NvmlMemory memory{};
    void* card = nvml.card(address, name);
    if (card != nullptr && nvml.get_memory(card, &memory) == 0) {
      figures = MemoryFigures{memory.free, memory.total};
    }
    nvml.shutdown();
  }
  dlclose(opened);
  return figures;
}

std::optional<MemoryFigures> amd_memory(const std::filesystem::path& devices,
                                        const std::string& address) {
  if (address.empty()) return std::nullopt;
  std::ifstream size(devices / address / "mem_info_vram_total");
  std::ifstream use(devices / address / "mem_info_vram_used");
  std::uint64_t bytes = 0;
  std::uint64_t used = 0;
  if (!(size >> bytes) || !(use >> used)) return std::nullopt;
  return MemoryFigures{bytes - std::min(used, bytes), bytes};
}

}  // namespace weft::plugin
