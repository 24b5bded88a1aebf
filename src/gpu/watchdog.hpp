#pragma once

// Internal to src/gpu: work that takes too long is an error that names it, where someone asked for
// that.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "gpu/error_sink.hpp"
#include "gpu/native.hpp"

namespace weft::gpu {

/// Knows what a device was given to do, in order, and when. Off until it is given a limit.
/// Thread-safe.
class Watchdog {
 public:
  /// The longest that one piece of work may take; 0: as long as it likes.
  void set_limit(double seconds) { limit_.store(seconds, std::memory_order_release); }
  [[nodiscard]] double limit() const { return limit_.load(std::memory_order_acquire); }
  [[nodiscard]] bool on() const { return limit() > 0; }
  /// Whether work went past its limit: the device may never be done with it, so that it cannot be
  /// closed.
  [[nodiscard]] bool bit() const { return bit_.load(std::memory_order_acquire); }

  /// Notes what was just handed to the queue.
  void submitted(const wgpu::Instance& instance, const wgpu::Queue& queue, std::string label);
  /// Waits for a future. Where work is past its limit, the device counts as lost from then on,
  /// which is the error.
  Status wait(const wgpu::Instance& instance, wgpu::Future future, std::string_view what,
              ErrorSink& errors);

 private:
  using Clock = std::chrono::steady_clock;
  struct Work {
    wgpu::Future done;
    Clock::time_point
        start;  ///< When it was handed over, or when what was in front of it was done.
    std::string label;
  };
  /// Takes off the time that the process was stopped (Ctrl-Z): work begins as much later. To be
  /// called with the lock held, whenever something is handed over, and often while it is waited
  /// for.
  void awake();
  /// Forgets what is done; the work that is past its limit, if there is any.
  std::optional<std::string> overdue(const wgpu::Instance& instance);
  void drop_done(const wgpu::Instance& instance);

  std::atomic<double> limit_ = 0;
  std::atomic<bool> bit_ = false;
  std::mutex mutex_;
  std::deque<Work> works_;
  Clock::time_point awake_ = Clock::now();  ///< When the process was seen running last.
};

}  // namespace weft::gpu
