#pragma once

#include <string>
#include <string_view>

#include "interface.hpp"

namespace weft::plugin {

/// The functions of ggml-base that the plug-in calls. They are looked up in the copy of ggml-base
/// that the program has loaded already: its file name differs between builds of ggml, and linking
/// one name would load a second copy. In a page, where nothing is loaded, they are linked.
struct Api {
  decltype(&ggml_log_get) log_get = nullptr;
  /// Whether a lost device is opened again here; a page opens everything again by itself.
  bool reopens_devices = true;
  int version = 0;  ///< The API number, which says how some of interface.hpp's types are laid out.
  ggml_backend_buffer_t (*buffer_init)(ggml_backend_buffer_type_t, ggml_backend_buffer_i,
                                       void* context, std::size_t size) = nullptr;
  decltype(&ggml_nbytes) nbytes = nullptr;
  decltype(&ggml_op_name) op_name = nullptr;
  decltype(&ggml_type_name) type_name = nullptr;
  decltype(&ggml_graph_nodes) graph_nodes = nullptr;
  decltype(&ggml_graph_n_nodes) graph_n_nodes = nullptr;
};

/// Why the program's ggml cannot be used, as a sentence; empty where it can.
const std::string& refusal();

/// The functions; all of them are there only where there is no refusal().
const Api& api();

/// Writes a line to ggml's log.
void log(ggml_log_level level, std::string_view text);

}  // namespace weft::plugin
