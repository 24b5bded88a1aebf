#pragma once

#include <llama.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::llm {

/// Whether each token of a batch has a result, or only the last one.
enum class Outputs : std::uint8_t { all, last };

/// Tokens that follow each other in one sequence, as llama.cpp takes them.
class Batch {
 public:
  Batch(std::span<const llama_token> tokens, std::size_t first, llama_seq_id sequence,
        Outputs outputs)
      : sequence_(sequence),
        tokens_(tokens.begin(), tokens.end()),
        places_(tokens.size()),
        counts_(tokens.size(), 1),
        sequences_(tokens.size(), &sequence_),
        outputs_(tokens.size(), outputs == Outputs::all ? 1 : 0) {
    for (std::size_t i = 0; i < tokens.size(); ++i) places_[i] = static_cast<llama_pos>(first + i);
    if (!outputs_.empty()) outputs_.back() = 1;
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Points into this object.
  [[nodiscard]] llama_batch get() {
    return {.n_tokens = static_cast<std::int32_t>(tokens_.size()),
            .token = tokens_.data(),
            .embd = nullptr,
            .pos = places_.data(),
            .n_seq_id = counts_.data(),
            .seq_id = sequences_.data(),
            .logits = outputs_.data()};
  }

 private:
  llama_seq_id sequence_;
  std::vector<llama_token> tokens_;
  std::vector<llama_pos> places_;
  std::vector<std::int32_t> counts_;
  std::vector<llama_seq_id*> sequences_;
  std::vector<std::int8_t> outputs_;
};

}  // namespace weft::llm
