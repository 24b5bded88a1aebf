#include "gpu/error_sink.hpp"

namespace weft::gpu {

void ErrorSink::record(ErrorCode code, std::string_view message) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    if (!first_) first_ = Failure{code, std::string(message)};
  } catch (...) {
    // Without memory for the message the flag below still makes the next call fail.
  }
  pending_.store(true, std::memory_order_release);
}

void ErrorSink::lose(std::string_view reason) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    reason_ = reason;
  } catch (...) {
    // As above: the state counts, the text is a courtesy.
  }
  lost_.store(true, std::memory_order_release);
  pending_.store(true, std::memory_order_release);
}

Status ErrorSink::take_slow() {
  const std::scoped_lock lock(mutex_);
  if (lost()) {
    return fail(ErrorCode::device_lost,
                "The device was lost ({}); its buffers are gone, and a new device is needed.",
                reason_);
  }
  pending_.store(false, std::memory_order_release);
  if (!first_) return fail(ErrorCode::internal, "The device reported an error without a message.");
  Failure failure = std::move(*first_);
  first_.reset();
  return std::unexpected(std::move(failure));
}

}  // namespace weft::gpu
