#include <algorithm>
#include <queue>

#include "formats/pretokenize.hpp"
#include "formats/tokenizer.hpp"

namespace weft {

/// Learns merges from words and how often each occurs. The counts of pairs are kept up to date from
/// merge to merge, so that a merge costs as much as the words that it changes.
class TokenizerTrainer {
 public:
  explicit TokenizerTrainer(std::string_view text) {
    std::unordered_map<std::string_view, std::int64_t> counts;
    while (!text.empty()) {
      const std::size_t mark = std::min(text.find(Tokenizer::end_of_text_mark), text.size());
      for (const std::string_view piece : pretokenize(text.substr(0, mark))) ++counts[piece];
      text.remove_prefix(std::min(mark + Tokenizer::end_of_text_mark.size(), text.size()));
    }
    // Sorted, so that the result does not hang on the order of a hash table.
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(counts.begin(), counts.end());
    std::ranges::sort(sorted);
    for (const auto& [piece, count] : sorted) {
      Word word{.count = count};
      for (const char c : piece) word.tokens.push_back(1U + static_cast<std::uint8_t>(c));
      words_.push_back(std::move(word));
    }
    for (std::uint32_t i = 0; i < words_.size(); ++i) count_pairs(i, 1);
    push_changed();
  }

  Tokenizer run(std::uint32_t vocabulary) {
    Tokenizer tokenizer;
    while (tokenizer.size() < vocabulary && !best_.empty()) {
      const Candidate top = best_.top();
      best_.pop();
      const auto found = pairs_.find(top.pair);
      if (found == pairs_.end() || found->second.count != top.count) continue;  // out of date
      if (top.count < 2) break;
      merge(tokenizer, top.pair);
    }
    return tokenizer;
  }

 private:
  struct Word {
    std::vector<std::uint32_t> tokens;
    std::int64_t count;
  };
  struct Pair {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  ///< Where it was seen; may name a word twice or in vain.
  };
  struct Candidate {
    std::int64_t count;
    std::uint64_t pair;
    /// The most frequent first; among equals the one with older tokens.
    bool operator<(const Candidate& other) const {
      return std::pair(count, ~pair) < std::pair(other.count, ~other.pair);
    }
  };

  /// Adds a word's pairs to the counts, or takes them off.
  void count_pairs(std::uint32_t index, std::int64_t sign) {
    const Word& word = words_[index];
    for (std::size_t i = 1; i < word.tokens.size(); ++i) {
      const std::uint64_t key = Tokenizer::pair_key(word.tokens[i - 1], word.tokens[i]);
      Pair& pair = pairs_[key];
      pair.count += sign * word.count;
      if (sign > 0 && (pair.words.empty() || pair.words.back() != index)) {
        pair.words.push_back(index);
      }
      changed_.push_back(key);
    }
  }

  void push_changed() {
    std::ranges::sort(changed_);
    const auto [end, last] = std::ranges::unique(changed_);
    changed_.erase(end, last);
    for (const std::uint64_t key : changed_) {
      const auto found = pairs_.find(key);
      if (found->second.count > 0) {
        best_.push({found->second.count, key});
      } else {
        pairs_.erase(found);
      }
    }
    changed_.clear();
  }

  void merge(Tokenizer& tokenizer, std::uint64_t key) {
    const auto left = static_cast<std::uint32_t>(key >> 32U);
    const auto right = static_cast<std::uint32_t>(key);
    tokenizer.add_merge(left, right);
    const std::uint32_t result = tokenizer.merges_.back().result;
    const std::vector<std::uint32_t> seen = std::move(pairs_[key].words);
    for (const std::uint32_t index : seen) {
      std::vector<std::uint32_t>& tokens = words_[index].tokens;
      const auto joins = [&](std::size_t i) {
        return i + 1 < tokens.size() && tokens[i] == left && tokens[i + 1] == right;
      };
      bool any = false;
      for (std::size_t i = 0; i < tokens.size() && !any; ++i) any = joins(i);
      if (!any) continue;
      count_pairs(index, -1);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < tokens.size(); ++kept) {
        const bool join = joins(i);
        tokens[kept] = join ? result : tokens[i];
        i += join ? 2 : 1;
      }
      tokens.resize(kept);
      count_pairs(index, 1);
    }
    push_changed();
  }

  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<std::uint64_t> changed_;
  std::priority_queue<Candidate> best_;
};

Result<Tokenizer> Tokenizer::train(std::string_view text, std::uint32_t vocabulary) {
  if (vocabulary < smallest_vocabulary || vocabulary > (1U << 20U)) {
    return fail(ErrorCode::invalid_argument,
                "A vocabulary has between {} and {} tokens; {} were asked for.",
                smallest_vocabulary, 1U << 20U, vocabulary);
  }
  return TokenizerTrainer(text).run(vocabulary);
}

}  // namespace weft
