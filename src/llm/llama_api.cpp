#include "llm/llama_api.hpp"

#include <dlfcn.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "llm/session.hpp"

namespace weft::llm {
namespace {

namespace fs = std::filesystem;

#ifdef WEFT_SYSTEM_LLAMA  // The folder of the system's libraries.
constexpr const char* llama_library = "libllama.so.0";
constexpr const char* ggml_library = "libggml.so.0";
constexpr const char* plugin_library = "libggml-virtgpu-weft.so";
constexpr const char* backends_folder = "ggml/backends0";
constexpr const char* system_folder = WEFT_SYSTEM_LLAMA;
constexpr const char* where_from = "library of llama.cpp (Debian's package libllama0 has it)";
#else  // The names that the pinned release has.
constexpr const char* llama_library = "libllama.v0.5.0.so";
constexpr const char* ggml_library = "libggml.v0.5.0.so";
constexpr const char* plugin_library = "libggml-weft.so";
constexpr const char* backends_folder = "";
constexpr const char* system_folder = "";
constexpr const char* where_from = "library of llama.cpp (env/llama fetches it)";
#endif
constexpr const char* rpc_library = "libggml-rpc.so";
constexpr const char* cache_folder = "weft/llama-3.22.1/lib";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// The folder of the file that this code was loaded from. Not that of /proc/self/exe, which in a
/// bundle is the loader. Empty where it cannot be told.
fs::path program_folder() {
  const auto here = reinterpret_cast<std::uintptr_t>(&program_folder);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {  // "start-end perms offset device inode path"
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    const char* last = line.data() + line.size();
    const auto [dash, first_error] = std::from_chars(line.data(), last, start, 16);
    if (first_error != std::errc() || dash == last) continue;
    const auto [rest, error] = std::from_chars(dash + 1, last, end, 16);
    const std::size_t path = line.find('/');
    if (error != std::errc() || here < start || here >= end || path == std::string::npos) continue;
    return fs::path(line.substr(path)).parent_path();
  }
  return {};
}

/// Empty where nothing names one; relative paths count as nothing, so that the current folder is
/// never searched.
fs::path user_cache() {
  fs::path cache = variable("XDG_CACHE_HOME");
  if (cache.is_absolute()) return cache;
  const fs::path home = variable("HOME");
  return home.is_absolute() ? home / ".cache" : fs::path();
}

/// llama.cpp ends the process where a model asks for what it never thought of. It can only end, but
/// with a sentence and a status in place of a signal.
[[noreturn]] void end_with_sentence(const char* message) {
  std::fprintf(stderr, "weft: llama.cpp cannot go on with this model: %s\n", message);
  std::_Exit(EXIT_FAILURE);
}

Result<fs::path> first_that_exists(const std::vector<fs::path>& candidates, std::string_view what) {
  std::string tried;
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (candidate.is_relative()) continue;  // Of a folder that is not known.
    if (fs::exists(candidate, error)) return candidate;
    tried += (tried.empty() ? "" : ", ") + candidate.string();
  }
  return fail(ErrorCode::not_found, "There is no {}; looked at {}.", what,
              tried.empty() ? "nothing, as no folder to look in is known" : tried);
}

}  // namespace

Result<Libraries> find_libraries() {
  const fs::path here = program_folder();
  std::vector<fs::path> folders;
  if (const std::string given = variable("WEFT_LLAMA_LIB"); !given.empty()) {
    folders = {fs::absolute(given)};
  }
  if (folders.empty()) {
    folders = {fs::path(system_folder), here, here / "../lib"};
    if (const fs::path cache = user_cache(); !cache.empty())
      folders.push_back(cache / cache_folder);
  }
  for (fs::path& folder : folders) folder /= llama_library;
  const auto llama = first_that_exists(folders, where_from);
  if (!llama) return std::unexpected(llama.error());

  std::vector<fs::path> plugins;
  if (const std::string given = variable("WEFT_GGML_PLUGIN"); !given.empty()) {
    plugins = {fs::absolute(given)};
  }
  if (plugins.empty()) {
    plugins = {llama->parent_path() / backends_folder / plugin_library, here / plugin_library,
               here / "../lib" / plugin_library, here / "../plugins/ggml" / plugin_library};
  }
  const auto plugin = first_that_exists(plugins, "ggml plug-in");
  if (!plugin) return std::unexpected(plugin.error());
  return Libraries{llama->parent_path(), llama->parent_path() / backends_folder, *plugin};
}

Result<fs::path> find_rpc(const Libraries& libraries) {
  const fs::path beside = libraries.plugin.parent_path();
  return first_that_exists(
      {beside / rpc_library, beside / "rpc" / rpc_library, libraries.backends / rpc_library},
      "library of ggml's RPC backend");
}

Result<fs::path> find_builtin_model() {
  if (const std::string given = variable("WEFT_MODEL"); !given.empty()) return fs::path(given);
  const fs::path here = program_folder();
  // Installed or bundled; in a build folder of the source tree.
  return first_that_exists(
      {here / "../share/weft/english.gguf", here / "../../share/weft/english.gguf",
       here / "../../../models/english.gguf"},
      "built-in model (name a GGUF file with -m, or set WEFT_MODEL)");
}

Result<std::shared_ptr<const LlamaApi>> load_llama(const Libraries& libraries) {
  const auto open = [&libraries](const char* name) -> Result<void*> {
    void* handle = dlopen((libraries.folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    return fail(ErrorCode::io, "llama.cpp does not load: {}", dlerror());
  };
  const auto ggml = open(ggml_library);
  if (!ggml) return std::unexpected(ggml.error());
  const auto llama = open(llama_library);
  if (!llama) return std::unexpected(llama.error());

  auto api = std::make_shared<LlamaApi>();
  std::string missing;
  const auto find = [&](const char* name) {
    void* address = dlsym(*llama, name);  // Looks into the libraries that it needs as well.
    if (address == nullptr) missing = name;
    return address;
  };
#define WEFT_LLAMA_FUNCTION(name) api->name = reinterpret_cast<decltype(api->name)>(find(#name));
#include "llm/llama_functions.inc"
#undef WEFT_LLAMA_FUNCTION
  if (!missing.empty()) {
    return fail(ErrorCode::not_found, "The library {} has no function {}; it is another release.",
                (libraries.folder / llama_library).string(), missing);
  }
  api->ggml_set_abort_callback(end_with_sentence);
  return std::shared_ptr<const LlamaApi>(std::move(api));
}

}  // namespace weft::llm
