#pragma once

#include <ggml-backend-impl.h>
#include <ggml.h>

#include <string_view>

namespace weft::plugin {

/// The functions of ggml-base that the plug-in calls. They are looked up in the copy of ggml-base that the program has
/// loaded already: its file name differs between builds of ggml, and linking one name would load a second copy.
struct Api {
  decltype(&ggml_backend_buffer_init) buffer_init = nullptr;
  decltype(&ggml_nbytes) nbytes = nullptr;
  decltype(&ggml_op_name) op_name = nullptr;
  decltype(&ggml_type_name) type_name = nullptr;
  decltype(&ggml_graph_nodes) graph_nodes = nullptr;
  decltype(&ggml_graph_n_nodes) graph_n_nodes = nullptr;
  decltype(&ggml_log_get) log_get = nullptr;
};

/// Whether the program has loaded a ggml-base that has all these functions.
bool api_found();

/// The functions; only where api_found().
const Api& api();

/// Writes a line to ggml's log.
void log(ggml_log_level level, std::string_view text);

}  // namespace weft::plugin
