#include "nn/data.hpp"

#include <utility>

#include "base/format.hpp"
#include "nn/random.hpp"
#include "weft/error.hpp"

namespace weft::nn {

Windows::Windows(std::span<const std::uint32_t> tokens, std::uint64_t context, std::uint64_t seed)
    : tokens_(tokens), context_(context), seed_(seed) {
  if (context == 0 || tokens.size() < context + 1) {
    throw Error(ErrorCode::invalid_argument,
                formatted("{} tokens do not fill a window of {} and the label of its end.",
                          tokens.size(), context));
  }
  // Every pass starts at another token below `context`; with one window less each of them has as
  // many windows.
  per_epoch_ = (tokens.size() - 1) / context;
  if (per_epoch_ > 1) --per_epoch_;
}

void Windows::copy(std::uint64_t start, Batch& batch) const {
  for (std::uint64_t i = start; i < start + context_; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>(tokens_[i]));
    batch.labels.push_back(static_cast<std::int32_t>(tokens_[i + 1]));
  }
}

void Windows::shuffle(std::uint64_t epoch) {
  Random random(seed_, "data", epoch);
  const std::uint64_t room = tokens_.size() - 1 - per_epoch_ * context_;
  shift_ = random.below(room + 1);
  order_.resize(per_epoch_);
  for (std::uint64_t i = 0; i < per_epoch_; ++i) order_[i] = i;
  for (std::uint64_t i = per_epoch_; i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
  epoch_ = epoch;
}

void Windows::append(std::uint64_t index, Batch& batch) {
  if (index / per_epoch_ != epoch_) shuffle(index / per_epoch_);
  copy(shift_ + order_[index % per_epoch_] * context_, batch);
}

Batch Windows::batch(std::uint64_t first, std::uint64_t count) {
  Batch batch;
  for (std::uint64_t i = first; i < first + count; ++i) append(i, batch);
  return batch;
}

void Windows::append_in_order(std::uint64_t index, Batch& batch) const {
  copy(index % per_epoch_ * context_, batch);
}

}  // namespace weft::nn
