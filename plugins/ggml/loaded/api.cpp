#include "api.hpp"

#include <dlfcn.h>
#include <link.h>

#include "base/format.hpp"
#include "op_names.hpp"

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

/// The program's ggml: its functions, or why they cannot be used.
struct Host {
  Api api;
  std::string refusal;
};

/// Where the operations are counted otherwise than here, what the first difference is. Goes upwards
/// and ends at the first one: the function that names them does not look at how many there are.
std::string other_numbering(const Api& api) {
  for (std::size_t i = 0; i < op_names.size(); ++i) {
    const char* name = api.op_name(static_cast<ggml_op>(i));
    if (name != nullptr && op_names[i] == name) continue;
    return formatted("operation {} is {} there and {} here", i, name != nullptr ? name : "none",
                     op_names[i]);
  }
  return {};
}

Host look() {
  Host host;
  void* handle = nullptr;
  dl_iterate_phdr(find_base, static_cast<void*>(&handle));
  if (handle == nullptr) {
    host.refusal = "The program has loaded no ggml whose backends can be plug-ins.";
    return host;
  }
  std::string missing;
  const auto find = [&](const char* name, auto& out) {
    out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(dlsym(handle, name));
    if (out == nullptr && missing.empty()) missing = name;
  };
  Api& api = host.api;
  find("ggml_log_get", api.log_get);
  find("ggml_backend_buffer_init", api.buffer_init);
  find("ggml_nbytes", api.nbytes);
  find("ggml_op_name", api.op_name);
  find("ggml_type_name", api.type_name);
  find("ggml_graph_nodes", api.graph_nodes);
  find("ggml_graph_n_nodes", api.graph_n_nodes);
  void* precision = nullptr;
  find("ggml_prec_set_acc",
       precision);  // Since ggml 0.24, whose interface is the oldest known here.
  // API 3 came with this function.
  api.version = dlsym(handle, "ggml_backend_buft_alloc_buffer_n") != nullptr ? 3 : 2;

  const auto version = reinterpret_cast<const char* (*)()>(dlsym(handle, "ggml_version"));
  const std::string release = version != nullptr ? version() : "of an unknown release";
  if (!missing.empty()) {
    host.refusal =
        formatted("The program's ggml {} has no function {}; Weft needs ggml 0.24 or later.",
                  release, missing);
  } else if (const std::string difference = other_numbering(api); !difference.empty()) {
    host.refusal = formatted(
        "The program's ggml {} counts its operations otherwise than the releases that Weft was "
        "built for: {}.",
        release, difference);
  }
  return host;
}

const Host& host() {
  static const Host found = look();
  return found;
}

}  // namespace

const std::string& refusal() { return host().refusal; }

const Api& api() { return host().api; }

}  // namespace weft::plugin
