#include "gpu/error_sink.hpp"

#include <unistd.h>

#include <new>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace weft::gpu {
namespace {

/// A page that is all zeros in the child of a fork, or null where the system has none.
void* page_of_this_process(std::size_t bytes) {
#ifdef MADV_WIPEONFORK
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (::madvise(page, bytes, MADV_WIPEONFORK) == 0) return page;
  ::munmap(page, bytes);
#else
  static_cast<void>(bytes);
#endif
  return nullptr;
}

}  // namespace

ErrorSink::ErrorSink() {
  void* page = page_of_this_process(sizeof(Marks));
  mapped_ = page != nullptr;
  marks_ = mapped_ ? new (page) Marks : new Marks;
}

ErrorSink::~ErrorSink() {
#ifdef MADV_WIPEONFORK
  if (mapped_) {
    ::munmap(marks_, sizeof(Marks));
    return;
  }
#endif
  delete marks_;
}

void ErrorSink::record(ErrorCode code, std::string_view message) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    if (!first_) first_ = Failure{code, std::string(message)};
  } catch (...) {
    // Without memory for the message the flag below still makes the next call fail.
  }
  note_refusal();
  marks_->quiet.store(false, std::memory_order_release);
}

void ErrorSink::lose(std::string_view reason) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    reason_ = reason;
  } catch (...) {
    // As above: the state counts, the text is a courtesy.
  }
  lost_.store(true, std::memory_order_release);
  marks_->quiet.store(false, std::memory_order_release);
}

Status ErrorSink::take_slow() {
  if (forked()) {
    // The lock is not touched: a thread that is not here may hold it.
    return fail(
        ErrorCode::invalid_argument,
        "The device was opened by another process, of which this one ({}) is a fork. Devices "
        "belong to the process that opened them; open one here.",
        ::getpid());
  }
  const std::scoped_lock lock(mutex_);
  if (lost()) {
    return fail(ErrorCode::device_lost,
                "The device was lost ({}); its buffers are gone, and a new device is needed.",
                reason_);
  }
  marks_->quiet.store(true, std::memory_order_release);
  if (!first_) return fail(ErrorCode::internal, "The device reported an error without a message.");
  Failure failure = std::move(*first_);
  first_.reset();
  return std::unexpected(std::move(failure));
}

}  // namespace weft::gpu
