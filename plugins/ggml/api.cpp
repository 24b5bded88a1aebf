#include "api.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <optional>
#include <string>

#include "base/format.hpp"

namespace weft::plugin {
namespace {

/// Takes the handle of the loaded object that defines ggml_backend_buffer_init, if there is one.
int find_base(dl_phdr_info* info, std::size_t /*size*/, void* found) {
  // An empty name is the program itself, which may have ggml linked in statically.
  const char* path = info->dlpi_name[0] != '\0' ? info->dlpi_name : nullptr;
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  if (dlsym(handle, "ggml_backend_buffer_init") != nullptr) {
    *static_cast<void**>(found) = handle;  // Stays open, as long as the plug-in does.
    return 1;
  }
  dlclose(handle);
  return 0;
}

template <class F>
bool find(void* handle, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(handle, name));
  return out != nullptr;
}

std::optional<Api> load() {
  void* handle = nullptr;
  dl_iterate_phdr(find_base, static_cast<void*>(&handle));
  Api api;
  if (handle != nullptr && find(handle, "ggml_backend_buffer_init", api.buffer_init) &&
      find(handle, "ggml_nbytes", api.nbytes) && find(handle, "ggml_op_name", api.op_name) &&
      find(handle, "ggml_type_name", api.type_name) &&
      find(handle, "ggml_graph_nodes", api.graph_nodes) &&
      find(handle, "ggml_graph_n_nodes", api.graph_n_nodes) &&
      find(handle, "ggml_log_get", api.log_get)) {
    return api;
  }
  return std::nullopt;
}

const Api* loaded() {
  static const std::optional<Api> api = load();
  return api ? &*api : nullptr;
}

}  // namespace

bool api_found() { return loaded() != nullptr; }

const Api& api() { return *loaded(); }

void log(ggml_log_level level, std::string_view text) {
  ggml_log_callback callback = nullptr;
  void* user = nullptr;
  api().log_get(&callback, &user);
  const std::string line = formatted("weft: {}\n", text);
  if (callback != nullptr) {
    callback(level, line.c_str(), user);
  } else {
    std::fputs(line.c_str(), stderr);
  }
}

}  // namespace weft::plugin
