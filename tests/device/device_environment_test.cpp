#include <dlfcn.h>
#include <link.h>

#include <string_view>
#include <utility>
#include <vector>

#include "device_fixture.hpp"

// What is done before the first test and after the last one.

namespace weft::test {
namespace {

/// Keeps Mesa's drivers in memory until the process ends. The loader unloads them with the last
/// device, and a leak checker then cannot tell the drivers' own leaks from ours. The loader itself
/// must go before the process ends: it would unload NVIDIA's driver while that is closing down.
int pin(dl_phdr_info* library, std::size_t, void*) {
  const std::string_view name = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (name.contains("libvulkan_") || name.contains("LLVM")) {
    dlopen(library->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
  return 0;
}

class Ends : public testing::Environment {
 public:
  void SetUp() override {
    device();  // Loads the drivers.
    dl_iterate_phdr(pin, nullptr);
  }

  void TearDown() override {
    for (; !actions_.empty(); actions_.pop_back()) actions_.back()();
  }

  void add(std::function<void()> action) { actions_.push_back(std::move(action)); }

 private:
  std::vector<std::function<void()>> actions_;
};

Ends* const ends = new Ends;
[[maybe_unused]] const testing::Environment* const owned_by_googletest =
    testing::AddGlobalTestEnvironment(ends);

}  // namespace

void after_tests(std::function<void()> action) { ends->add(std::move(action)); }

}  // namespace weft::test
