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

namespace weft::llm {

/// The GGUF file of the built-in model: WEFT_MODEL, or what lies beside the program in an installed tree, a bundle or a
/// build folder.
Result<std::filesystem::path> find_builtin_model();

/// How a model is loaded.
struct ModelOptions {
  std::filesystem::path model;
  std::string device;  ///< "" (the best adapter), part of an adapter's name, its index, or "cpu".
  std::uint32_t context = 4096;  ///< Tokens; at most what the model was trained for.
  std::int32_t gpu_layers = 999;
  std::int32_t threads = 0;              ///< For what runs on the CPU; 0: one for each core.
  std::string flash_attention = "auto";  ///< "on", "off" or "auto".
  bool verbose = false;                  ///< Show llama.cpp's own log.
  std::function<void(float)> progress;   ///< Called with 0 to 1 while the model loads.
};

/// How tokens are chosen.
struct SamplingOptions {
  std::uint32_t seed = 0;    ///< 0: another one in every run.
  float temperature = 0.8F;  ///< 0: always the most likely token.
  std::int32_t top_k = 40;
  float top_p = 0.95F;
  float min_p = 0.05F;
  float typical = 1;
  float repeat_penalty = 1;
  float frequency_penalty = 0;
  float presence_penalty = 0;
  std::int32_t repeat_last = 64;
};

/// What one answer took.
struct Timing {
  std::size_t prompt_tokens = 0;
  std::size_t generated_tokens = 0;
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
  /// Whether the model has a chat template that is known.
  [[nodiscard]] bool has_chat_template() const;
  /// The conversation as the model wants to see it, up to where its answer starts.
  [[nodiscard]] std::string format(const std::vector<Message>& conversation) const;
  /// Continues a text by up to `tokens` tokens (the whole text is read again); `out` gets the pieces. Ends early, with
  /// what there is, at the model's end of text, when the context is full, or once `stop` is true.
  Result<Timing> generate(std::string_view text, std::size_t tokens,
                          const std::function<void(std::string_view)>& out,
                          const std::atomic<bool>& stop);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft::llm
