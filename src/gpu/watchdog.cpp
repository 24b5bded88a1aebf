#include "gpu/watchdog.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "gpu/process_end.hpp"

namespace weft::gpu {
namespace {

constexpr std::size_t most_works = 256;
/// How often it is looked after work, as a part of the limit.
constexpr double look_every = 0.05;
/// Nobody looked for so much longer than that: the process was stopped, not only slow.
constexpr std::chrono::seconds most_late{1};

bool is_done(const wgpu::Instance& instance, wgpu::Future future) {
  wgpu::FutureWaitInfo info;
  info.future = future;
  return instance.WaitAny(1, &info, 0) == wgpu::WaitStatus::Success;
}

}  // namespace

void Watchdog::drop_done(const wgpu::Instance& instance) {
  while (!works_.empty() && is_done(instance, works_.front().done)) {
    works_.pop_front();
    if (!works_.empty()) works_.front().start = std::max(works_.front().start, Clock::now());
  }
}

void Watchdog::awake() {
  const Clock::time_point now = Clock::now();
  const auto expected = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(limit() * look_every));
  const Clock::duration away = now - std::exchange(awake_, now) - expected;
  if (away < most_late) return;
  for (Work& work : works_) work.start = std::min(now, work.start + away);
}

void Watchdog::submitted(const wgpu::Instance& instance, const wgpu::Queue& queue,
                         std::string label) {
  const std::scoped_lock lock(mutex_);
  awake();
  if (works_.size() >= most_works) drop_done(instance);
  const wgpu::Future done = queue.OnSubmittedWorkDone(
      wgpu::CallbackMode::WaitAnyOnly, [](wgpu::QueueWorkDoneStatus, wgpu::StringView) {});
  works_.push_back({done, Clock::now(), std::move(label)});
}

std::optional<std::string> Watchdog::overdue(const wgpu::Instance& instance) {
  const std::scoped_lock lock(mutex_);
  awake();
  drop_done(instance);
  if (works_.empty()) return std::nullopt;
  const Work& first = works_.front();
  const double seconds = std::chrono::duration<double>(Clock::now() - first.start).count();
  if (seconds < limit()) return std::nullopt;
  return formatted("{} has been running for {:.1f} seconds, and the watchdog allows {}",
                   first.label, seconds, limit());
}

Status Watchdog::wait(const wgpu::Instance& instance, wgpu::Future future, std::string_view what,
                      ErrorSink& errors) {
  if (!on()) return wait_for(instance, future, what);
  for (;;) {
    const auto slice = static_cast<std::uint64_t>(std::max(1e6, limit() * look_every * 1e9));
    wgpu::FutureWaitInfo info;
    info.future = future;
    const wgpu::WaitStatus status = instance.WaitAny(1, &info, slice);
    if (status == wgpu::WaitStatus::Success) return {};
    if (status != wgpu::WaitStatus::TimedOut) {
      return fail(ErrorCode::internal, "Waiting for {} ended with status {}.", what,
                  static_cast<unsigned>(status));
    }
    if (const auto reason = overdue(instance)) {
      bit_.store(true, std::memory_order_release);
      end_at_once();
      errors.lose(*reason);
      return errors.take();
    }
  }
}

}  // namespace weft::gpu
