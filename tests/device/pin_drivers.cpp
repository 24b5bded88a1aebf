#include "pin_drivers.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

namespace weft::test {
namespace {

// The loader itself must go before the process ends: it would unload NVIDIA's driver while that is
// closing down.
int pin(dl_phdr_info* library, std::size_t, void*) {
  const std::string_view name = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (name.contains("libvulkan_") || name.contains("LLVM")) {
    dlopen(library->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
  return 0;
}

}  // namespace

void pin_drivers() { dl_iterate_phdr(pin, nullptr); }

}  // namespace weft::test
