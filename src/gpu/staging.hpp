#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "gpu/error_sink.hpp"
#include "gpu/native.hpp"
#include "gpu/watchdog.hpp"

namespace weft::gpu {

/// Host-visible buffers for read-back, kept for reuse.
class StagingPool {
 public:
  /// `limit`: most bytes kept while unused.
  StagingPool(wgpu::Instance instance, wgpu::Device device, bool blocking, ErrorSink& errors,
              std::uint64_t limit);

  Result<wgpu::Buffer> take(std::uint64_t bytes);
  /// `buffer` must be unmapped. One that could not be mapped is not kept: it would fail the next
  /// reader too.
  void give_back(wgpu::Buffer buffer, bool good) noexcept;
  void trim();
  std::uint64_t bytes() const;

 private:
  const wgpu::Instance instance_;
  const wgpu::Device device_;
  const bool blocking_;
  ErrorSink& errors_;
  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::multimap<std::uint64_t, wgpu::Buffer> free_;
  std::uint64_t total_ = 0;  ///< Unused and in use.
  std::uint64_t unused_ = 0;
};

/// A staging buffer that is being mapped.
class MappedRead {
 public:
  /// Starts mapping the first `bytes` bytes; work that fills them is submitted already.
  MappedRead(wgpu::Instance instance, std::shared_ptr<StagingPool> pool, wgpu::Buffer buffer,
             std::uint64_t bytes, bool fails = false);
  MappedRead(const MappedRead&) = delete;
  MappedRead& operator=(const MappedRead&) = delete;
  ~MappedRead();

  bool ready();
  /// Asks again and again whether the bytes are there, for so long at most: a thread that sleeps in
  /// the driver wakes up late (tens of microseconds on an H200, of a token that takes a
  /// millisecond).
  void poll(std::chrono::microseconds most);
  /// Waits; the error if the bytes could not be had (`errors` says why where the device was lost).
  Status wait(Watchdog& watchdog, ErrorSink& errors);
  /// The bytes, after a wait() that succeeded.
  std::span<const std::byte> bytes() const;

 private:
  struct Answer {
    wgpu::MapAsyncStatus status{};
    std::string message;
    bool arrived = false;
  };

  const wgpu::Instance instance_;
  const std::shared_ptr<StagingPool> pool_;
  wgpu::Buffer buffer_;
  const std::uint64_t bytes_;
  const std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  wgpu::Future future_{};
};

}  // namespace weft::gpu
