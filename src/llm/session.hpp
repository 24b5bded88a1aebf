#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "llm/sampling.hpp"

namespace weft::llm {

/// The GGUF file of the built-in model: WEFT_MODEL, or what lies beside the program in an installed
/// tree, a bundle or a build folder.
Result<std::filesystem::path> find_builtin_model();

/// How a model is loaded.
struct ModelOptions {
  std::filesystem::path model;
  /// "" (the best adapter), part of an adapter's name, its index, several of these with commas
  /// between (the layers are spread over them), or "cpu".
  std::string device;
  /// Servers of ggml's RPC backend, "host:port" with commas between, whose devices get layers
  /// beside those of `device`.
  std::string servers;
  std::uint32_t context =
      4096;  ///< Tokens; at most what the model was trained for, which is also what 0 means.
  std::int32_t gpu_layers = 999;
  std::int32_t threads = 0;              ///< For what runs on the CPU; 0: one for each core.
  std::string flash_attention = "auto";  ///< "on", "off" or "auto".
  std::string cache_type = "f16";        ///< Element type of the keys and values.
  std::string chat_template;  ///< One that llama.cpp knows by name, in place of the model's own.
  bool verbose = false;       ///< Show llama.cpp's own log.
  /// Whether the file may be mapped. Otherwise it is read piece by piece, and what is wrong with it
  /// is found on the way.
  bool map_file = true;
  std::uint32_t conversations =
      1;  ///< So many are kept, in one context, and are not read again when they go on.
  /// Whether a full context loses its middle, so that generation goes on, instead of ending there.
  bool shift = false;
  std::function<bool(float)> progress;  ///< Called with 0 to 1 while the model loads; false stops.
};

/// What one answer took.
struct Timing {
  std::size_t prompt_tokens = 0;  ///< Those that were read:
  std::size_t cached_tokens = 0;  ///< without those that a kept conversation begins with, too.
  std::size_t generated_tokens = 0;
  std::size_t shifts = 0;      ///< How often the context was full and lost its middle.
  bool full = false;           ///< It ended because the context was full.
  std::size_t recoveries = 0;  ///< How often the text was read again because a device was lost and
                               ///< another took its place.
  double prompt_seconds = 0;
  double generation_seconds = 0;
};

/// One message of a conversation.
struct Message {
  std::string role;  ///< "system", "user" or "assistant".
  std::string text;
};

/// A loaded model with its context.
class Session {
 public:
  static Result<Session> open(const ModelOptions& options, const SamplingOptions& sampling);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// A line about the model and where it runs.
  [[nodiscard]] std::string describe() const;
  /// Whether there is a chat template, the model's or the one asked for, that is known.
  [[nodiscard]] bool has_chat_template() const;
  /// The conversation as the model wants to see it, up to where its answer starts.
  [[nodiscard]] std::string format(const std::vector<Message>& conversation) const;
  /// Chooses tokens in this way from now on.
  Status sample_with(const SamplingOptions& sampling);
  /// Tokens of a text as a prompt.
  [[nodiscard]] Result<std::size_t> count_tokens(std::string_view text) const;
  /// Tokens of the context.
  [[nodiscard]] std::size_t context() const;
  /// What the text means as a vector of length 1: as the model computes it, or the mean over the
  /// tokens.
  Result<std::vector<float>> embed(std::string_view text);
  /// Continues a text by up to `tokens` tokens; `out` gets the pieces. Ends early, with what there
  /// is, at the model's end of text, when the context is full (unless it shifts), or once `stop` is
  /// true.
  Result<Timing> generate(std::string_view text, std::size_t tokens,
                          const std::function<void(std::string_view)>& out,
                          const std::atomic<bool>& stop);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::llm
