#pragma once

#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/caps.hpp"

namespace weft::plugin {

/// Answers to "can this op be done?" that were given before. Programs ask for every node of every
/// new graph, and the layers of a model ask the same: planning each anew would cost more than the
/// graph. Thread-safe.
class Answers {
 public:
  [[nodiscard]] bool supports(const ggml_tensor& op, const Caps& caps);
  /// Drops all of them: other capabilities have other answers.
  void forget_all();

 private:
  using Key = std::vector<std::uint64_t>;
  struct Hasher {
    std::size_t operator()(const Key& key) const noexcept;
  };

  std::mutex mutex_;
  std::unordered_map<Key, bool, Hasher> known_;
};

}  // namespace weft::plugin
