#include <cstdio>

#include "api.hpp"
#include "base/format.hpp"

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

}  // namespace weft::plugin
