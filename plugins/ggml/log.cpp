#include <cstdio>
#include <exception>

#include "api.hpp"
#include "base/format.hpp"
#include "guard.hpp"

namespace weft::plugin {

void log(ggml_log_level level, std::string_view text) {
  ggml_log_callback callback = nullptr;
  void* user = nullptr;
  if (api().log_get != nullptr) api().log_get(&callback, &user);
  const std::string line = formatted("weft: {}\n", text);
  if (callback != nullptr) {
    callback(level, line.c_str(), user);
  } else {
    std::fputs(line.c_str(), stderr);
  }
}

void log_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      log(GGML_LOG_LEVEL_ERROR, "The host has no memory left; what was asked for failed.");
    } catch (const std::exception& error) {
      log(GGML_LOG_LEVEL_ERROR, formatted("What was asked for failed: {}", error.what()));
    }
  } catch (...) {
    std::fputs("weft: The host has no memory left, not even to say what failed.\n", stderr);
  }
}

}  // namespace weft::plugin
