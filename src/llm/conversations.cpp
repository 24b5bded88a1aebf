#include "llm/conversations.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "llm/batch.hpp"

namespace weft::llm {
namespace {

/// As llama_decode says it.
constexpr int no_room = 1;
/// So many at the end of a text may be cut for another text that goes on with it.
constexpr std::size_t few_tokens = 4;

std::size_t common(std::span<const llama_token> a, std::span<const llama_token> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

llama_pos position(std::size_t at) { return static_cast<llama_pos>(at); }

}  // namespace

Conversations::Conversations(std::shared_ptr<const LlamaApi> api, llama_context* context,
                             std::size_t count)
    : api_(std::move(api)), context_(context), all_(std::max<std::size_t>(1, count)) {
  const llama_model* model = api_->llama_get_model(context_);
  whole_states_ = api_->llama_model_is_recurrent(model) || api_->llama_model_is_hybrid(model);
}

void Conversations::forget(std::size_t index) {
  all_[index].past.clear();
  api_->llama_memory_seq_rm(memory(), static_cast<llama_seq_id>(index), -1, -1);
}

std::size_t Conversations::oldest() const {
  const auto at = std::ranges::min_element(all_, {}, &Conversation::used);
  return static_cast<std::size_t>(at - all_.begin());
}

void Conversations::turn_to(std::span<const llama_token> prompt) {
  const auto wanted = prompt.first(prompt.size() - 1);
  const auto shared = [&](const Conversation& one) { return common(one.past, wanted); };
  const auto best = std::ranges::max_element(all_, {}, shared);
  const std::size_t same = shared(*best);
  const auto from = static_cast<std::size_t>(best - all_.begin());
  // What only differs at its end goes on: an answer that was cut, or whose last letters are other
  // tokens now. What differs before that is another one with the same beginning.
  const std::size_t cut = best->past.size() - same;
  if (same > 0 && (cut <= few_tokens || 8 * cut <= best->past.size())) {
    current_ = from;
  } else {
    current_ = oldest();
    if (current_ != from) {
      forget(current_);
      if (!whole_states_ && same > 0) {
        const auto kept = std::span(best->past).first(same);
        all_[current_].past.assign(kept.begin(), kept.end());
        api_->llama_memory_seq_cp(memory(), static_cast<llama_seq_id>(from),
                                  static_cast<llama_seq_id>(current_), 0, position(same));
      }
    }
  }
  Conversation& now = all_[current_];
  now.used = ++turns_;
  now.past.resize(common(now.past, wanted));
  // Models with a recurrent state cannot go back to any place.
  if (now.past.empty() || !api_->llama_memory_seq_rm(memory(), static_cast<llama_seq_id>(current_),
                                                     position(now.past.size()), -1)) {
    forget(current_);
  }
}

int Conversations::decode(std::span<const llama_token> tokens) {
  Conversation& now = all_[current_];
  Batch batch(tokens, now.past.size(), static_cast<llama_seq_id>(current_), Outputs::last);
  for (;;) {
    const int status = api_->llama_decode(context_, batch.get());
    if (status == 0) now.past.insert(now.past.end(), tokens.begin(), tokens.end());
    if (status != no_room) return status;
    const auto held = [&](const Conversation& one) { return &one != &now && !one.past.empty(); };
    auto others = all_ | std::views::filter(held);
    const auto victim = std::ranges::min_element(others, {}, &Conversation::used);
    if (victim == others.end()) return status;
    forget(static_cast<std::size_t>(&*victim - all_.data()));
  }
}

void Conversations::forget_all() {
  for (Conversation& one : all_) one.past.clear();
  api_->llama_memory_clear(memory(), true);
}

bool Conversations::shift(std::size_t keep) {
  Conversation& now = all_[current_];
  if (whole_states_ || !api_->llama_memory_can_shift(memory()) || now.past.size() < keep + 2) {
    return false;
  }
  const std::size_t from = keep + (now.past.size() - keep) / 2;
  // A place of the memory has one position, whoever shares it.
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (i != current_ && common(all_[i].past, now.past) > keep) forget(i);
  }
  const auto sequence = static_cast<llama_seq_id>(current_);
  if (!api_->llama_memory_seq_rm(memory(), sequence, position(keep), position(from))) return false;
  api_->llama_memory_seq_add(memory(), sequence, position(from), -1,
                             position(keep) - position(from));
  now.past.erase(now.past.begin() + static_cast<std::ptrdiff_t>(keep),
                 now.past.begin() + static_cast<std::ptrdiff_t>(from));
  return true;
}

}  // namespace weft::llm
