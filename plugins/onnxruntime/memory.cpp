#include "memory.hpp"

#include <sys/mman.h>

#include <iterator>

#include "base/format.hpp"

namespace weft::ort {
namespace {

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);  // NOLINT: addresses are only compared
}

/// Takes away what lies in a range. What it stood for ends after the lock is given back.
template <class Pieces>
Pieces taken(Pieces& pieces, std::uintptr_t first, std::uintptr_t last) {
  Pieces out;
  auto at = pieces.lower_bound(first);
  if (at != pieces.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.bytes > first) at = before;
  }
  while (at != pieces.end() && at->first < last) out.insert(pieces.extract(at++));
  return out;
}

}  // namespace

Memory::~Memory() {
  for (const auto& [address, size] : blocks_)
    ::munmap(reinterpret_cast<void*>(address), size);  // NOLINT
}

void* Memory::reserve(std::size_t size) {
  if (size == 0) size = 1;
  void* address =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;  // NOLINT
  const std::lock_guard lock(mutex_);
  blocks_[number(address)] = size;
  return address;
}

void Memory::release(void* address) {
  std::map<std::uintptr_t, Piece> gone;
  std::size_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(number(address));
    if (block == blocks_.end()) return;
    size = block->second;
    gone = taken(pieces_, block->first, block->first + size);
    blocks_.erase(block);
  }
  ::munmap(address, size);
}

void Memory::put(const void* address, std::size_t bytes, std::shared_ptr<Stored> stored) {
  if (bytes == 0) return;  // A tensor without elements needs no place.
  std::map<std::uintptr_t, Piece> gone;
  const std::lock_guard lock(mutex_);
  gone = taken(pieces_, number(address), number(address) + bytes);
  pieces_[number(address)] = {.bytes = bytes, .stored = std::move(stored)};
}

std::shared_ptr<Stored> Memory::at(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(number(address));
  if (found == pieces_.end()) {
    throw Error(ErrorCode::invalid_argument,
                formatted("Nothing was written to the device's address {:#x}.", number(address)));
  }
  return found->second.stored;
}

}  // namespace weft::ort
