#include "backends.hpp"

#include <gtest/gtest.h>
#include <llama.h>

#include <cstdlib>
#include <mutex>

namespace weft::test {
namespace {

constexpr std::size_t kept_bytes = 1 << 16;

struct Log {
  std::mutex mutex;
  std::string text;
};

Log& the_log() {
  static Log log;
  return log;
}

void keep(ggml_log_level /*level*/, const char* text, void* /*user*/) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.text += text;
  if (log.text.size() > kept_bytes) log.text.erase(0, log.text.size() - kept_bytes);
}

}  // namespace

void load_backends() {
  static const bool loaded = [] {
    const char* adapter = std::getenv("WEFT_ADAPTER");
    const std::string one = adapter != nullptr ? adapter : "0";
    setenv("WEFT_GGML_DEVICES", (one + "," + one + "," + one).c_str(), 0);
    llama_log_set(keep, nullptr);
    ggml_backend_load_all_from_path(WEFT_GGML_LIB);
    const char* plugin =
        std::getenv("WEFT_TEST_PLUGIN");  // Another one, for tests in a process of theirs.
    return ggml_backend_load(plugin != nullptr ? plugin : WEFT_PLUGIN) != nullptr;
  }();
  ASSERT_TRUE(loaded) << captured_log();
}

ggml_backend_dev_t weft_device(std::size_t number) {
  ggml_backend_reg_t registry = ggml_backend_reg_by_name("Weft");
  if (registry == nullptr || number >= ggml_backend_reg_dev_count(registry)) {
    ADD_FAILURE() << "the plug-in has no device " << number << ": " << captured_log();
    return nullptr;
  }
  return ggml_backend_reg_dev_get(registry, number);
}

DeviceStats device_stats(ggml_backend_dev_t device, ggml_op op) {
  using Function = DeviceStats (*)(ggml_backend_dev_t, ggml_op);
  void* address =
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "weft_device_stats");
  return address == nullptr ? DeviceStats{} : reinterpret_cast<Function>(address)(device, op);
}

std::string captured_log() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  return log.text;
}

void forget_log() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.text.clear();
}

}  // namespace weft::test
