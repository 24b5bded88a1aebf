#pragma once

#include <cstddef>

namespace weft::graph {

/// Memory for a node: expressions make and drop them by the dozen, and malloc has few blocks of one
/// size at hand. A thread keeps what it gave back for the next ones.
void* take_node_memory(std::size_t bytes);
void give_node_memory(void* memory, std::size_t bytes) noexcept;

/// The same as an allocator, for std::allocate_shared.
template <class T>
struct NodeMemory {
  using value_type = T;
  NodeMemory() = default;
  template <class U>
  explicit NodeMemory(const NodeMemory<U>& /*other*/) {}
  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return static_cast<T*>(take_node_memory(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    give_node_memory(memory, count * sizeof(T));
  }
  template <class U>
  bool operator==(const NodeMemory<U>& /*other*/) const {
    return true;
  }
};

}  // namespace weft::graph
