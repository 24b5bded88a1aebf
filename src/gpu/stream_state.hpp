#pragma once

// Internal to src/gpu: what a Stream and a Recording point to.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device_state.hpp"
#include "gpu/launches.hpp"

namespace weft::gpu {

/// One dispatch as it was asked for, before its bind group is made.
struct Step {
  std::shared_ptr<const KernelState> kernel;
  std::vector<Slice> bindings;
  std::uint32_t params_offset = 0;
  Grid grid;
  std::string note{};
};

/// What begin_recording() collects.
struct RecordingDraft {
  std::vector<Step> steps;
  std::vector<std::byte> params;
};

/// One dispatch ready to be encoded.
struct ReplayStep {
  wgpu::ComputePipeline pipeline;
  wgpu::BindGroup group;
  std::uint32_t params_offset = 0;
  bool dynamic_params = false;
  bool new_pipeline = true;  ///< False: the step before left the same pipeline set.
  bool new_group = true;     ///< False: the step before left the same bind group set.
  Grid grid;
};

/// What a Recording points to.
struct RecordingState {
  [[nodiscard]] bool stays_open() const { return device && device->forked(); }

  std::shared_ptr<DeviceState> device;
  std::vector<ReplayStep> replay;
  std::vector<Step> steps;  ///< Keeps kernels and buffers alive, and names the steps.
  wgpu::Buffer params;
  std::mutex ahead_mutex;
  std::vector<wgpu::CommandBuffer> ahead;  ///< The next replay, if it has been encoded already.
};

/// A batch this long keeps the queue fed, and no watchdog sees a submission that takes seconds.
inline constexpr std::uint32_t most_commands = Profiler::batch_size;

/// What Launches points to.
struct LaunchesState {
  /// Where a binding of a launch was: the block of the pool, and the offset in it.
  struct Place {
    std::uint64_t block = 0;
    std::uint64_t offset = 0;
  };
  struct Group {
    std::vector<Place> places;
    wgpu::BindGroup group;
  };
  struct Launch {
    FixedLaunch fixed;
    std::uint32_t params_offset = 0;
    std::vector<Group> groups{};  ///< Of the last runs.
    std::size_t next = 0;         ///< Which of them was made last, where there are most_groups.
  };
  static constexpr std::size_t most_groups = 4;

  [[nodiscard]] bool stays_open() const { return device && device->stays_open(); }
  const wgpu::BindGroup& group_of(Launch& launch, std::span<const Binding> bindings);

  std::shared_ptr<DeviceState> device;
  std::vector<Launch> launches;
  wgpu::Buffer params;
  std::uint64_t params_id = 0;
};

/// What a Stream points to.
struct StreamState {
  explicit StreamState(std::shared_ptr<DeviceState> owner);
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState();

  Status dispatch(const std::shared_ptr<const KernelState>& kernel, std::span<const Slice> bindings,
                  std::span<const std::byte> params, Grid grid, std::string_view note = {});
  Status run(LaunchesState& launches, LaunchesState::Launch& launch,
             std::span<const Binding> bindings);
  Status submit();
  Status wait();
  /// The encoder with no pass open, for copies.
  const wgpu::CommandEncoder& commands();
  /// Keeps a buffer from being reused before the submission.
  void retain(const Buffer& buffer);
  /// Counts one command that is not a dispatch towards the batch's limit.
  Status count_command();
  Status replay(RecordingState& recording, std::uint32_t times);
  Status encode_ahead(RecordingState& recording);
  Result<double> time_replay(RecordingState& recording, std::uint32_t times);

  std::shared_ptr<DeviceState> device;
  std::optional<RecordingDraft> draft;

 private:
  Status check(const KernelState& kernel, std::span<const Slice> bindings,
               std::span<const std::byte> params, Grid grid) const;
  Status encode(const KernelState& kernel, std::span<const Slice> bindings,
                std::span<const std::byte> params, Grid grid, std::string_view note);
  void open_encoder();
  void open_pass(const std::string& label, std::string_view note);
  void close_pass();
  Status replay_profiled(const RecordingState& recording, std::uint32_t times);
  Status replay_watched(const RecordingState& recording, std::uint32_t times);

  wgpu::CommandEncoder encoder_;
  wgpu::ComputePassEncoder pass_;
  const KernelState* pipeline_ = nullptr;  ///< What the open pass has set.
  ParamsPage page_;
  std::vector<std::byte> params_;  ///< What the page will hold for this batch.
  std::uint32_t commands_ = 0;
  std::string last_;  ///< With a watchdog: the last command of the batch.
  std::vector<Buffer> retained_;
  std::optional<Profiler::Batch> batch_;
};

/// The ranges of a dispatch as a bind group wants them.
void to_ranges(std::span<const Slice> bindings, std::vector<BindRange>& ranges);

/// Records a copy or a fill of any bytes; the slices have been checked.
Status record_copy(StreamState& stream, const Slice& from, const Slice& to);
/// Fills with a pattern of four bytes, which lie at byte offsets that are multiples of four.
Status record_fill(StreamState& stream, const Slice& to, std::uint32_t pattern);

}  // namespace weft::gpu
