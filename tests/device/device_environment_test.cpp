#include <dlfcn.h>
#include <link.h>

#include <string_view>

#include "device_fixture.hpp"

// Keeps Mesa's drivers in memory until the process ends. The loader unloads them with the last
// device, and a leak checker then cannot tell the drivers' own leaks from ours. The loader itself
// must go before the process ends: it would unload NVIDIA's driver while that is closing down.

namespace weft::test {
namespace {

int pin(dl_phdr_info* library, std::size_t, void*) {
  const std::string_view name = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (name.contains("libvulkan_") || name.contains("LLVM")) {
    dlopen(library->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
  return 0;
}

class PinnedDrivers : public testing::Environment {
 public:
  void SetUp() override {
    device();  // Loads them.
    dl_iterate_phdr(pin, nullptr);
  }
};

[[maybe_unused]] const testing::Environment* const pinned =
    testing::AddGlobalTestEnvironment(new PinnedDrivers);  // GoogleTest owns it.

}  // namespace
}  // namespace weft::test
