#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gpu/native.hpp"
#include "gpu/profile.hpp"
#include "gpu/staging.hpp"

namespace weft::gpu {

/// Collects the times of a profiled device's dispatches and of what the host does.
class Profiler {
 public:
  using Clock = std::chrono::steady_clock;

  Profiler(wgpu::Instance instance, wgpu::Device device, std::shared_ptr<StagingPool> staging,
           bool timestamps);

  bool timestamps() const { return timestamps_; }
  /// Notes something the host did from `start` until now.
  void host(std::string_view label, Clock::time_point start);

  /// The dispatches of one submission: a query pair for each.
  struct Batch {
    wgpu::QuerySet queries;
    std::vector<std::string> labels;
    std::vector<std::string> notes;  ///< As many.
    Clock::time_point submitted;
  };
  /// The most dispatches that fit one batch.
  static constexpr std::uint32_t batch_size = 512;
  Batch begin_batch();
  /// Adds the commands that bring the times back. Call it before the encoder is finished.
  Result<wgpu::Buffer> resolve(const Batch& batch, const wgpu::CommandEncoder& encoder);
  /// Call it after the submission.
  void submitted(Batch batch, wgpu::Buffer times);

  Result<Profile> take(ErrorSink& errors);

 private:
  struct Waiting {
    Batch batch;
    std::unique_ptr<MappedRead> read;
  };
  double seconds(Clock::time_point time) const;

  const wgpu::Instance instance_;
  const wgpu::Device device_;
  const std::shared_ptr<StagingPool> staging_;
  const bool timestamps_;
  const Clock::time_point origin_ = Clock::now();
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  std::vector<wgpu::QuerySet> idle_;
  std::vector<ProfileEvent> host_;
  std::unordered_map<std::thread::id, std::uint64_t> threads_;
};

/// Notes the time from its making to its end as a host event, where there is a profiler.
class HostScope {
 public:
  HostScope(Profiler* profiler, std::string_view label)
      : profiler_(profiler),
        label_(label),
        start_(profiler ? Profiler::Clock::now() : Profiler::Clock::time_point{}) {}
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;
  ~HostScope() {
    if (profiler_ != nullptr) profiler_->host(label_, start_);
  }

 private:
  Profiler* profiler_;
  std::string_view label_;
  Profiler::Clock::time_point start_;
};

}  // namespace weft::gpu
