#pragma once

#include <ggml-backend.h>
#include <llama.h>

#include <filesystem>
#include <memory>

#include "base/error.hpp"

/// Text generation through llama.cpp, whose libraries are loaded at run time: programs work without
/// them.
namespace weft::llm {

/// The functions of llama.cpp that are used here.
struct LlamaApi {
#define WEFT_LLAMA_FUNCTION(name) decltype(&::name) name = nullptr;  // NOLINT: it is a name
#include "llm/llama_functions.inc"
#undef WEFT_LLAMA_FUNCTION
};

/// Where llama.cpp's libraries and the plug-in were found.
struct Libraries {
  std::filesystem::path folder;    ///< Holds libllama and libggml.
  std::filesystem::path backends;  ///< Holds ggml's CPU backends.
  std::filesystem::path plugin;    ///< libggml-weft.so.
};

/// Looks for the libraries in WEFT_LLAMA_LIB, beside the program and in the user's cache folder,
/// and for the plug-in in WEFT_GGML_PLUGIN and beside the program.
Result<Libraries> find_libraries();

/// The plug-in with ggml's RPC backend, which lies beside Weft's.
Result<std::filesystem::path> find_rpc(const Libraries& libraries);

/// Loads llama.cpp; the library stays loaded.
Result<std::shared_ptr<const LlamaApi>> load_llama(const Libraries& libraries);

}  // namespace weft::llm
