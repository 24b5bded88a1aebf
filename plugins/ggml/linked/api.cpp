#include "api.hpp"

// ggml and the plug-in in one program: there is one release, and nothing to look for.

extern "C" ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t type,
                                                          ggml_backend_buffer_i functions,
                                                          void* context, std::size_t size);

namespace weft::plugin {

const std::string& refusal() {
  static const std::string none;
  return none;
}

const Api& api() {
  static constexpr Api linked{
      .log_get = ggml_log_get,
      .reopens_devices = false,
      .version = WEFT_GGML_API,  // The build reads it from ggml's own header.
      .buffer_init = ggml_backend_buffer_init,
      .nbytes = ggml_nbytes,
      .op_name = ggml_op_name,
      .type_name = ggml_type_name,
      .graph_nodes = ggml_graph_nodes,
      .graph_n_nodes = ggml_graph_n_nodes,
  };
  return linked;
}

}  // namespace weft::plugin
