#include "graph/node_memory.hpp"

#include <new>

namespace weft::graph {
namespace {

// Sanitizers want to see every block come and go.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t most_kept = 0;
#else
constexpr std::size_t most_kept = 256;
#endif

/// A block that nobody uses, and the next one.
struct Free {
  Free* next;
};

/// Blocks of one size, which is that of the first one. It has no destructor, so that nodes which
/// outlive the thread's other objects can still be given back.
struct Kept {
  Free* first;
  std::size_t bytes;
  std::size_t count;
  bool closed;
};
constinit thread_local Kept kept{};

struct CloseAtThreadEnd {
  CloseAtThreadEnd() = default;
  CloseAtThreadEnd(const CloseAtThreadEnd&) = delete;
  CloseAtThreadEnd& operator=(const CloseAtThreadEnd&) = delete;
  ~CloseAtThreadEnd() {
    kept.closed = true;
    while (kept.first != nullptr) {
      Free* const block = kept.first;
      kept.first = block->next;
      ::operator delete(block);
    }
  }
};

}  // namespace

void* take_node_memory(std::size_t bytes) {
  if (kept.first == nullptr || kept.bytes != bytes) return ::operator new(bytes);
  Free* const block = kept.first;
  kept.first = block->next;
  --kept.count;
  return block;
}

void give_node_memory(void* memory, std::size_t bytes) noexcept {
  if (kept.bytes == 0) kept.bytes = bytes;
  if (kept.closed || kept.bytes != bytes || kept.count == most_kept) {
    ::operator delete(memory);
    return;
  }
  static thread_local const CloseAtThreadEnd close;
  kept.first = ::new (memory) Free{kept.first};
  ++kept.count;
}

}  // namespace weft::graph
