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
  ErrorSink();
  ErrorSink(const ErrorSink&) = delete;
  ErrorSink& operator=(const ErrorSink&) = delete;
  ~ErrorSink();

  /// Keeps the first error until it is taken.
  void record(ErrorCode code, std::string_view message) noexcept;
  /// Marks the device as lost for good.
  void lose(std::string_view reason) noexcept;
  /// Notes that the device refused something, where the caller has the message itself.
  void note_refusal() noexcept { refused_.store(true, std::memory_order_release); }
  /// The error to return now, if there is one: a lost device and a forked process again and again,
  /// any other error once.
  Status take() {
    if (marks_->quiet.load(std::memory_order_acquire)) [[likely]]
      return {};
    return take_slow();
  }
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Whether the device has ever reported an error.
  bool refused() const { return refused_.load(std::memory_order_acquire); }
  /// Whether this is a fork of the process that made the device: threads and locks that the device
  /// needs are not there.
  bool forked() const { return !marks_->here.load(std::memory_order_acquire); }

 private:
  /// In memory that the system clears in the child of a fork, so that one look finds errors and
  /// forks alike.
  struct Marks {
    std::atomic<bool> quiet{true};  ///< No error waits.
    std::atomic<bool> here{true};
  };
  Status take_slow();

  Marks* marks_;
  bool mapped_ = false;
  std::atomic<bool> lost_{false};
  std::atomic<bool> refused_{false};
  std::mutex mutex_;
  std::optional<Failure> first_;
  std::string reason_;
};

}  // namespace weft::gpu
