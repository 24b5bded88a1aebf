#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "values.hpp"

namespace weft::ort {

/// Memory of devices, as ONNX Runtime sees it: addresses. WebGPU has none to give out, and tensors
/// of Weft never change. So addresses are only reserved (reading one ends the program), and what is
/// written to one is a handle that is kept for it. Threads may share it.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  /// So many addresses; nullptr where there are none left.
  [[nodiscard]] void* reserve(std::size_t size);
  void release(void* address);

  /// Keeps what `bytes` addresses stand for from now on, in place of what any of them stood for.
  void put(const void* address, std::size_t bytes, std::shared_ptr<Stored> stored);
  /// What was written there; an error where nothing was.
  [[nodiscard]] std::shared_ptr<Stored> at(const void* address) const;

 private:
  struct Piece {
    std::size_t bytes = 0;
    std::shared_ptr<Stored> stored;
  };
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;
  std::map<std::uintptr_t, Piece> pieces_;
};

}  // namespace weft::ort
