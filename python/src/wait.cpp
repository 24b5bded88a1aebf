#include "wait.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "array.hpp"

namespace weft::python {
namespace {

constexpr std::chrono::milliseconds look_for_signals{50};

struct Job {
  std::function<void()> work;
  std::exception_ptr error;
  bool done = false;
};

/// One thread that waits for others. Never freed: it may wait when the program ends.
struct Waiter {
  std::mutex mutex;
  std::condition_variable posted;
  std::condition_variable finished;
  std::deque<std::shared_ptr<Job>> jobs;
  pid_t process = 0;  ///< Whose thread it is: that of a parent is not there after a fork.

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      posted.wait(lock, [&] { return !jobs.empty(); });
      const std::shared_ptr<Job> job = jobs.front();
      jobs.pop_front();
      lock.unlock();
      try {
        const Call call;
        job->work();
      } catch (...) {
        job->error = std::current_exception();
      }
      job->work = nullptr;
      lock.lock();
      job->done = true;
      finished.notify_all();
    }
  }
};

Waiter& waiter() {
  static auto* one = new Waiter;
  return *one;
}

thread_local int callbacks = 0;
std::atomic<bool> device_was_opened = false;

/// How much was queued since the last wait, and how much may be.
struct Pace {
  std::atomic<unsigned> queued = 0;
  std::atomic<unsigned> most = 64;
};
constexpr unsigned least_queued = 8;
constexpr unsigned most_queued = 4096;
constexpr std::chrono::milliseconds short_wait{10};
constexpr std::chrono::milliseconds long_wait{200};
Pace queue;  // one for all devices

std::thread::id& main_thread() {
  static std::thread::id one;
  return one;
}

}  // namespace

void note_main_thread() { main_thread() = std::this_thread::get_id(); }

void note_device() { device_was_opened = true; }

void left_by_fork() {
  if (!device_was_opened) return;
  (void)on_exit(  // runs before what libraries that were loaded earlier have registered
      [](int status, void* /*unused*/) {
        (void)std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

Callback::Callback() { ++callbacks; }
Callback::~Callback() { --callbacks; }

void wait_for(std::function<void()> work) {
  const Call call;
  Waiter& one = waiter();
  if (callbacks > 0 || std::this_thread::get_id() != main_thread() ||
      (one.process != 0 && one.process != getpid())) {
    const nb::gil_scoped_release others_run;
    work();
    queue.queued = 0;
    return;
  }
  if (one.process == 0) {
    one.process = getpid();
    std::thread([&one] { one.run(); }).detach();
  }
  const auto job = std::make_shared<Job>(std::move(work));
  {
    const std::lock_guard lock(one.mutex);
    one.jobs.push_back(job);
  }
  one.posted.notify_one();
  for (;;) {
    {
      const nb::gil_scoped_release others_run;
      std::unique_lock lock(one.mutex);
      if (one.finished.wait_for(lock, look_for_signals, [&] { return job->done; })) break;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  if (job->error) std::rethrow_exception(job->error);
  queue.queued = 0;
}

void pace(const Device& device) {
  if (callbacks > 0 || ++queue.queued < queue.most) return;
  const auto start = std::chrono::steady_clock::now();
  wait_for([device] { device.synchronize(); });
  const auto took = std::chrono::steady_clock::now() - start;
  const unsigned most = queue.most;
  if (took < short_wait) queue.most = std::min(most * 2, most_queued);
  if (took > long_wait) queue.most = std::max(most / 2, least_queued);
}

}  // namespace weft::python
