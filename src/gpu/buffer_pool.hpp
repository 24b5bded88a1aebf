#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "gpu/error_sink.hpp"
#include "gpu/gpu.hpp"
#include "gpu/memory.hpp"
#include "gpu/native.hpp"

namespace weft::gpu {

/// A buffer as the driver knows it; it outlives the handles that use it one after the other.
struct Block {
  wgpu::Buffer buffer;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;
  std::uint64_t asked = 0;  ///< Bytes that its present user wanted.
  std::uint64_t stamp = 0;  ///< When it came back to the pool, as a running number.
};

/// The bytes a pooled buffer really has: size classes a quarter of a power of two apart up to 64
/// MiB (at most a quarter is wasted, and sizes that vary a little meet the same class), whole MiB
/// above.
std::uint64_t size_class(std::uint64_t bytes, std::uint64_t limit);

/// Buffers without a handle, kept by size class. A block may be handed out again at once: all work
/// on it goes through one queue, streams hold handles until they have submitted, and so whatever
/// the new owner does comes after everything the old one did.
class BufferPool {
 public:
  struct Limits {
    std::uint64_t max_buffer = 0;
    std::uint64_t pool_limit = 0;
    bool blocking = true;  ///< See Host.
  };
  /// `dropped` is called, without a lock, with the id of every block that is destroyed.
  BufferPool(wgpu::Instance instance, wgpu::Device device, ErrorSink& errors, Limits limits,
             std::function<void(std::uint64_t)> dropped);

  Result<Block> take(std::uint64_t bytes, std::string_view label);
  void give_back(Block block) noexcept;
  void trim();
  void fail_next(std::uint32_t count);
  void fill_in(MemoryStats& stats) const;
  void fill_in(MemoryReport& report) const;
  /// Allocations past the limit fail, after a notice. It is called without a lock, by the thread
  /// that allocates.
  void set_limit(MemoryLimit limit);
  /// The limit of the pool that this one takes the place of.
  void take_limit_of(const BufferPool& other);

 private:
  Result<Block> try_to_take(std::uint64_t wanted, std::uint64_t bytes, std::string_view label);
  Status make_room(std::uint64_t wanted, std::uint64_t bytes, std::string_view label);
  bool tell(bool full, std::uint64_t bytes);
  Result<Block> create(std::uint64_t bytes, std::uint64_t asked, std::string_view label);
  void note_taken(Block& block, std::uint64_t asked);
  bool keep(Block& block) noexcept;
  Block pop_oldest();
  void destroy(Block& block) noexcept;

  const wgpu::Instance instance_;
  const wgpu::Device device_;
  ErrorSink& errors_;
  const Limits limits_;
  const std::function<void(std::uint64_t)> dropped_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::deque<Block>> free_;  ///< By class, oldest first; none is empty.
  std::map<std::uint64_t, std::uint64_t> used_;      ///< Blocks with a handle, by class.
  std::shared_ptr<const MemoryLimit> limit_;
  bool near_ = false;     ///< What is in use was near the limit when it was last looked at.
  bool telling_ = false;  ///< A notice is being given: what it allocates itself is no news.
  std::uint64_t asked_ = 0;
  std::uint64_t stamp_ = 0;
  std::uint64_t in_use_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t pooled_ = 0;
  std::uint64_t allocations_ = 0;
  std::uint64_t reuses_ = 0;
  std::uint32_t fail_next_ = 0;
};

}  // namespace weft::gpu
