#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "llm/llama_api.hpp"

namespace weft::llm {

/// The texts whose keys and values a context holds: sequences of its memory with the tokens that
/// were computed. A prompt that goes on with one of them, or begins like one, is not read from its
/// beginning. One of them is the current one.
class Conversations {
 public:
  /// Of a context that was made for `count` sequences that share its memory.
  Conversations(std::shared_ptr<const LlamaApi> api, llama_context* context, std::size_t count);

  /// Turns to the conversation that a prompt goes on with, or else to the one that was not used for
  /// the longest time, and leaves in it what the prompt begins with, without its last token, whose
  /// logits are needed.
  void turn_to(std::span<const llama_token> prompt);
  /// What has been computed of the current one.
  [[nodiscard]] std::span<const llama_token> past() const { return current().past; }
  /// Computes tokens that follow; gives what llama_decode gives. Where there is no room for them,
  /// the other conversations are forgotten, the oldest first.
  int decode(std::span<const llama_token> tokens);
  /// Forgets all of them, and clears what the memory holds: it was lost with its device.
  void forget_all();
  /// Forgets half of what comes after the first `keep` tokens and moves the rest up. False where
  /// this memory cannot do that.
  bool shift(std::size_t keep);

 private:
  struct Conversation {
    std::vector<llama_token> past;
    std::uint64_t used = 0;  ///< When that was.
  };
  [[nodiscard]] const Conversation& current() const { return all_[current_]; }
  [[nodiscard]] llama_memory_t memory() const { return api_->llama_get_memory(context_); }
  void forget(std::size_t index);
  [[nodiscard]] std::size_t oldest() const;

  std::shared_ptr<const LlamaApi> api_;
  llama_context* context_;
  bool whole_states_;  ///< States cannot be cut: those of recurrent models.
  std::vector<Conversation> all_;
  std::size_t current_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace weft::llm
