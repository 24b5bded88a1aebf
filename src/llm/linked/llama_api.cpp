#include "llm/llama_api.hpp"

#include <string>

#include "llm/checks.hpp"

// llama.cpp, ggml and the plug-in linked into one program, as in a page: nothing is looked for and
// nothing is loaded.

extern "C" ggml_backend_reg_t ggml_backend_init();
extern "C" void ggml_backend_register(ggml_backend_reg_t registry);

namespace weft::llm {

Result<Libraries> find_libraries() { return Libraries{}; }

Result<std::filesystem::path> find_rpc(const Libraries& /*libraries*/) {
  return fail(ErrorCode::unsupported, "This program has no RPC backend.");
}

Status check_server(const std::string& server) {
  return fail(ErrorCode::unsupported, "This program cannot reach the server {}.", server);
}

Result<std::shared_ptr<const LlamaApi>> load_llama(const Libraries& /*libraries*/) {
  static const bool registered = [] {
    ggml_backend_reg_t weft = ggml_backend_init();
    if (weft != nullptr) ggml_backend_register(weft);
    return weft != nullptr;
  }();
  if (!registered) return fail(ErrorCode::internal, "The ggml backend does not start.");
  auto api = std::make_shared<LlamaApi>();
#define WEFT_LLAMA_FUNCTION(name) api->name = ::name;
#include "llm/llama_functions.inc"
#undef WEFT_LLAMA_FUNCTION
  return std::shared_ptr<const LlamaApi>(std::move(api));
}

}  // namespace weft::llm
