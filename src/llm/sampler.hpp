#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "llm/llama_api.hpp"
#include "llm/sampling.hpp"

namespace weft::llm {

/// Chooses tokens from the logits of a context.
class Sampler {
 public:
  /// `room` is how many tokens the context has room for: no penalty looks further back.
  static Result<Sampler> make(std::shared_ptr<const LlamaApi> api, const llama_model* model,
                              std::size_t room, const SamplingOptions& options);

  /// Lets the graph of a context choose, where the options say so; this sampler must live until it
  /// lets go of the context.
  Status attach(llama_context* context);
  void detach();

  /// Forgets what was chosen and takes the tokens of a prompt as seen.
  void start(std::span<const llama_token> prompt);
  /// The next token after the last one that the context has computed; LLAMA_TOKEN_NULL where its
  /// graph chose none.
  llama_token next(llama_context* context);

 private:
  struct Free {
    std::shared_ptr<const LlamaApi> api;
    void operator()(llama_sampler* sampler) const { api->llama_sampler_free(sampler); }
  };
  using Handle = std::unique_ptr<llama_sampler, Free>;
  Sampler(std::shared_ptr<const LlamaApi> api, std::size_t vocabulary);

  std::shared_ptr<const LlamaApi> api_;
  Handle chain_;
  Handle grammar_;  ///< Null without one. Not in the chain, because a prompt does not have to
                    ///< follow it.
  std::vector<llama_token_data> candidates_;
  bool on_device_ = false;
  llama_context* attached_ = nullptr;
};

}  // namespace weft::llm
