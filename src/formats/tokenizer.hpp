#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "formats/gguf.hpp"

namespace weft {

/// Byte-level byte-pair encoding. Token 0 ends (and starts) a text, tokens 1 to 256 are the single
/// bytes, and the rest are merges of two tokens, learnt from text. Every sequence of bytes is
/// encoded and decoded exactly.
class Tokenizer {
 public:
  /// The token between texts, and how it is written where `encode` looks for it.
  static constexpr std::uint32_t end_of_text = 0;
  static constexpr std::string_view end_of_text_mark = "<|endoftext|>";
  /// The end of text and the 256 bytes.
  static constexpr std::uint32_t smallest_vocabulary = 257;

  /// Learns a vocabulary: again and again the most frequent pair of neighbours becomes a token.
  /// Stops early where the text has no pair left that occurs twice.
  static Result<Tokenizer> train(std::string_view text, std::uint32_t vocabulary);
  /// The tokenizer that `add_to` wrote.
  static Result<Tokenizer> from_metadata(const gguf::Metadata& metadata);

  /// Writes the vocabulary as GGUF values that llama.cpp understands.
  void add_to(gguf::Metadata& metadata) const;

  /// Number of tokens.
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  /// The bytes that a token stands for; none for the end of a text.
  [[nodiscard]] const std::string& bytes(std::uint32_t token) const { return tokens_[token]; }

  /// The tokens of a text. With `marks`, every "<|endoftext|>" in it becomes the token that ends a
  /// text.
  [[nodiscard]] std::vector<std::uint32_t> encode(std::string_view text, bool marks = false) const;
  /// The bytes of tokens; numbers that are no token stand for nothing.
  [[nodiscard]] std::string decode(std::span<const std::uint32_t> tokens) const;

  /// Two neighbouring tokens that become one. The place in the list is the priority.
  struct Merge {
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t result;
  };
  [[nodiscard]] const std::vector<Merge>& merges() const { return merges_; }

 private:
  friend class TokenizerTrainer;
  Tokenizer();
  /// Appends a merge; a result that is no token yet becomes one.
  void add_merge(std::uint32_t left, std::uint32_t right);
  void encode_piece(std::string_view piece, std::vector<std::uint32_t>& out) const;
  void encode_text(std::string_view text, std::vector<std::uint32_t>& out) const;

  static constexpr std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32U | right;
  }

  std::vector<std::string> tokens_;
  std::vector<Merge> merges_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> ranks_;  ///< Pair of tokens → place in merges_.
};

}  // namespace weft
