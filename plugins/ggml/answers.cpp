#include "answers.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.hpp"
#include "node.hpp"

namespace weft::plugin {
namespace {

/// Answers kept; a model has some dozens of them for each number of tokens.
constexpr std::size_t capacity = 8192;

/// Everything that the plan of an op without memory depends on: see plan_unplaced.
std::vector<std::uint64_t> key_of(const ggml_tensor& op) {
  std::vector<std::uint64_t> key;
  key.reserve(128);
  std::vector<const ggml_tensor*> roots;
  const auto add = [&](const ggml_tensor& tensor) {
    const ggml_tensor* root = tensor.view_src != nullptr ? tensor.view_src : &tensor;
    const auto found = std::ranges::find(roots, root);
    key.push_back(static_cast<std::uint64_t>(found - roots.begin()));
    if (found == roots.end()) roots.push_back(root);
    key.push_back(tensor.view_src != nullptr ? tensor.view_offs : 0);
    key.push_back(static_cast<std::uint64_t>(tensor.type));
    for (const std::int64_t extent : tensor.ne) key.push_back(static_cast<std::uint64_t>(extent));
    for (const std::size_t stride : tensor.nb) key.push_back(stride);
  };
  key.push_back(static_cast<std::uint64_t>(op.op));
  for (const std::int32_t word : op.op_params) {
    key.push_back(static_cast<std::uint64_t>(static_cast<std::uint32_t>(word)));
  }
  add(op);
  for (std::uint64_t i = 0; i < GGML_MAX_SRC; ++i) {
    if (op.src[i] == nullptr) continue;
    key.push_back(i);
    add(*op.src[i]);
  }
  return key;
}

}  // namespace

std::size_t Answers::Hasher::operator()(const Key& key) const noexcept {
  return static_cast<std::size_t>(hash_bytes(std::as_bytes(std::span(key))));
}

bool Answers::supports(const ggml_tensor& op, const Caps& caps) {
  Key key = key_of(op);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  const bool answer = plan_unplaced(op, caps).has_value();
  const std::lock_guard lock(mutex_);
  if (known_.size() >= capacity) known_.clear();
  known_.emplace(std::move(key), answer);
  return answer;
}

void Answers::forget_all() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

}  // namespace weft::plugin
