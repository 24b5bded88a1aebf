#include "gpu/process_end.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace weft::gpu {
namespace {

/// That the process ends is a fact about the process, so there is one flag for all devices.
constinit std::atomic<bool> ends = false;

}  // namespace

bool process_ends() { return ends; }

void watch_process_end() {
  [[maybe_unused]] static const int watching = std::atexit([] { ends = true; });
}

void leave_open(void* object) {
  static std::mutex mutex;
  static std::vector<void*>& objects = *new std::vector<void*>;  // must outlive static objects
  const std::scoped_lock lock(mutex);
  objects.push_back(object);
}

void end_at_once() {
// Only glibc tells what is to be done at the end the status of the process; and LeakSanitizer looks
// for leaks later than this.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  [[maybe_unused]] static const int registered = ::on_exit(
      [](int status, void* /*nothing*/) {
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
#endif
}

}  // namespace weft::gpu
