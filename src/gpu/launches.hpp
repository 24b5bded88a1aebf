#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/gpu.hpp"

// Launches that are made again and again on other buffers.

namespace weft::gpu {

struct LaunchesState;

/// What is the same about a launch in every run.
struct FixedLaunch {
  Kernel kernel;
  std::vector<std::byte> params;
  Grid grid;
  std::string note;
};

/// A range of a buffer to bind, without a share in the buffer.
struct Binding {
  const Buffer* buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Launches with their parameters in memory of their own. Each remembers the bind groups of the
/// buffers that it ran on last, so that a loop whose buffers come round makes none. A shared
/// handle, for one thread at a time.
class Launches {
 public:
  Launches() = default;
  static Result<Launches> make(const Device& device, std::vector<FixedLaunch> launches);
  explicit operator bool() const { return state_ != nullptr; }

  /// Runs one of them. The buffers have to stay until the stream has submitted, and bindings lie as
  /// Stream::dispatch() wants them.
  Status run(Stream& stream, std::size_t number, std::span<const Binding> bindings) const;

 private:
  friend struct Unwrap;
  std::shared_ptr<LaunchesState> state_;
};

}  // namespace weft::gpu
