#include "formats/tokenizer.hpp"

#include <algorithm>
#include <queue>

#include "formats/pretokenize.hpp"

namespace weft {

Tokenizer::Tokenizer() : tokens_{""} {
  for (int byte = 0; byte < 256; ++byte) {
    ids_.emplace(std::string(1, static_cast<char>(byte)), size());
    tokens_.emplace_back(1, static_cast<char>(byte));
  }
}

void Tokenizer::add_merge(std::uint32_t left, std::uint32_t right) {
  const std::string joined = tokens_[left] + tokens_[right];
  const auto [found, added] = ids_.try_emplace(joined, size());
  if (added) tokens_.push_back(joined);
  ranks_.try_emplace(pair_key(left, right), static_cast<std::uint32_t>(merges_.size()));
  merges_.push_back({left, right, found->second});
}

void Tokenizer::encode_piece(std::string_view piece, std::vector<std::uint32_t>& out) const {
  // A chain of tokens, at first the bytes; merging makes the left one longer and unlinks the right
  // one.
  struct Link {
    std::uint32_t token;
    std::int64_t before;
    std::int64_t after;
    bool gone = false;
  };
  struct Candidate {
    std::uint32_t rank;
    std::size_t left;
    std::size_t right;
    bool operator>(const Candidate& other) const {
      return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
  };
  std::vector<Link> chain(piece.size());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::int64_t left, std::int64_t right) {
    if (left < 0 || right < 0) return;
    const auto l = static_cast<std::size_t>(left);
    const auto r = static_cast<std::size_t>(right);
    const auto rank = ranks_.find(pair_key(chain[l].token, chain[r].token));
    if (rank != ranks_.end()) candidates.push({rank->second, l, r});
  };
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    chain[i] = {.token = 1U + static_cast<std::uint8_t>(piece[i]),
                .before = place - 1,
                .after = i + 1 < piece.size() ? place + 1 : -1};
  }
  for (std::size_t i = 1; i < piece.size(); ++i) {
    consider(static_cast<std::int64_t>(i) - 1, static_cast<std::int64_t>(i));
  }
  while (!candidates.empty()) {
    const auto [rank, l, r] = candidates.top();
    candidates.pop();
    Link& left = chain[l];
    Link& right = chain[r];
    const Merge& merge = merges_[rank];
    // What a candidate saw may have been merged with something else in the meantime.
    if (left.gone || right.gone || left.token != merge.left || right.token != merge.right) continue;
    left.token = merge.result;
    left.after = right.after;
    right.gone = true;
    if (left.after >= 0) {
      chain[static_cast<std::size_t>(left.after)].before = static_cast<std::int64_t>(l);
    }
    consider(left.before, static_cast<std::int64_t>(l));
    consider(static_cast<std::int64_t>(l), left.after);
  }
  for (const Link& link : chain) {
    if (!link.gone) out.push_back(link.token);
  }
}

void Tokenizer::encode_text(std::string_view text, std::vector<std::uint32_t>& out) const {
  // Words repeat; long pieces hardly ever do.
  constexpr std::size_t longest_kept = 32;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> known;
  for (const std::string_view piece : pretokenize(text)) {
    if (piece.size() > longest_kept) {
      encode_piece(piece, out);
      continue;
    }
    const auto [found, added] = known.try_emplace(piece);
    if (added) encode_piece(piece, found->second);
    out.insert(out.end(), found->second.begin(), found->second.end());
  }
}

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text, bool marks) const {
  std::vector<std::uint32_t> out;
  while (marks) {
    const std::size_t mark = text.find(end_of_text_mark);
    if (mark == std::string_view::npos) break;
    encode_text(text.substr(0, mark), out);
    out.push_back(end_of_text);
    text.remove_prefix(mark + end_of_text_mark.size());
  }
  encode_text(text, out);
  return out;
}

std::string Tokenizer::decode(std::span<const std::uint32_t> tokens) const {
  std::string text;
  for (const std::uint32_t token : tokens) {
    if (token < size()) text += tokens_[token];
  }
  return text;
}

}  // namespace weft
