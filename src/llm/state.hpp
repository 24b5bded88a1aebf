#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "llm/conversations.hpp"
#include "llm/llama_api.hpp"
#include "llm/sampler.hpp"
#include "llm/session.hpp"

/// What a session holds; only src/llm sees it.
namespace weft::llm {

inline constexpr std::string_view own_prefix =
    "weft: ";  // of the plug-in's messages, and of the program's

/// Keeps llama.cpp's errors for our messages and shows everything when asked to.
struct LogSink {
  std::mutex mutex;
  bool verbose = false;
  std::string last_error;

  static void write(ggml_log_level level, const char* text, void* user) {
    auto& sink = *static_cast<LogSink*>(user);
    const std::lock_guard lock(sink.mutex);
    if (sink.verbose) std::fputs(text, stderr);
    if (level != GGML_LOG_LEVEL_ERROR) return;
    std::string line = text;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.starts_with(own_prefix)) line.erase(0, own_prefix.size());
    // The first error says what happened; those that follow say that it is therefore so.
    if (sink.last_error.empty() && !line.empty()) sink.last_error = line;
  }

  bool has_error() {
    const std::lock_guard lock(mutex);
    return !last_error.empty();
  }

  std::string take() {
    const std::lock_guard lock(mutex);
    return std::exchange(last_error, {});
  }
};

/// More than any model has.
inline constexpr std::int32_t most_layers = 999;

using Devices = std::vector<ggml_backend_dev_t>;

struct Session::State {
  std::shared_ptr<const LlamaApi> api;
  std::unique_ptr<LogSink> log = std::make_unique<LogSink>();
  std::string device_name = "the CPU";
  std::string chat_template;
  llama_model* model = nullptr;
  llama_context* context = nullptr;
  llama_context* embedder = nullptr;  ///< For embeddings; made when the first one is wanted.
  llama_context_params settings{};    ///< Of `context`.
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Conversations> conversations;  ///< None in a model that only has embeddings.
  bool shifts = false;
  std::vector<std::function<std::uint64_t()>> losses;  ///< How often each device was lost so far.
  std::uint64_t known_losses = 0;
  std::size_t recoveries = 0;  ///< How often a text was read again because a device was lost.

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (sampler) sampler->detach();
    sampler.reset();
    if (embedder != nullptr) api->llama_free(embedder);
    if (context != nullptr) api->llama_free(context);
    if (model != nullptr) api->llama_model_free(model);
    if (api) api->llama_log_set(nullptr, nullptr);
  }

  /// An error with what llama.cpp said last.
  std::unexpected<Failure> failure(ErrorCode code, std::string_view what) const {
    const std::string reason = log->take();
    return fail(code, "{}{}{}", what, reason.empty() ? "." : ": ", reason);
  }

  Result<Devices> open_devices(const Libraries& libraries, const ModelOptions& options);
  Status add_local(const Libraries& libraries, const std::string& wanted, Devices& devices);
  Status add_servers(const Libraries& libraries, std::string_view list, Devices& devices);
  void add_device(ggml_backend_dev_t device, Devices& devices);
  [[nodiscard]] Status check_memory(const ModelOptions& options, const Devices& devices) const;
  Status load(const ModelOptions& options, Devices devices);
  Status make_context(const ModelOptions& options, bool on_device);
  [[nodiscard]] Result<std::vector<llama_token>> tokenize(std::string_view text) const;
  Status decode(std::span<const llama_token> tokens, const std::atomic<bool>& stop);
  /// Computes tokens that follow in the current conversation, and waits for that. Where a device is
  /// lost on the way, it computes the whole conversation on the one that takes its place.
  Status compute(std::span<const llama_token> tokens, const std::atomic<bool>& stop);
  /// Whether a device was lost since the last call.
  bool lost_device();
  Status make_embedder();
};

}  // namespace weft::llm
