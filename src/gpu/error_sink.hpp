#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace weft::gpu {

/// Where callbacks leave errors for the next foreground call. Recording never throws.
class ErrorSink {
 public:
  /// Keeps the first error until it is taken.
  void record(ErrorCode code, std::string_view message) noexcept;
  /// Marks the device as lost for good.
  void lose(std::string_view reason) noexcept;
  /// The error to return now, if there is one: a lost device again and again, any other error once.
  Status take() {
    if (!pending_.load(std::memory_order_acquire)) [[likely]]
      return {};
    return take_slow();
  }
  bool lost() const { return lost_.load(std::memory_order_acquire); }

 private:
  Status take_slow();

  std::atomic<bool> pending_{false};
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::optional<Failure> first_;
  std::string reason_;
};

}  // namespace weft::gpu
