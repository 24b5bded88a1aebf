#include <algorithm>
#include <chrono>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "gpu/make_buffer.hpp"
#include "gpu/process_end.hpp"
#include "gpu/stream_state.hpp"

namespace weft::gpu {
namespace {

// Dispatches per submission of a replay: few at first, so that the device starts while the rest is
// being encoded (it needs longer for them than the host), then enough to hide what a submission
// costs, and never so many that a watchdog would see one. Measured on an H200 with 248 small
// dispatches, whose first result came after 1.86 ms with 64 of them in the first submission, and
// after 1.67 ms with 16.
constexpr std::size_t first_replay_batch = 16;
constexpr std::size_t largest_replay_batch = 1024;

void encode_step(const wgpu::ComputePassEncoder& pass, const ReplayStep& step, bool first) {
  if (first || step.new_pipeline) pass.SetPipeline(step.pipeline);
  if (first || step.new_group) {
    pass.SetBindGroup(0, step.group, step.dynamic_params ? 1 : 0, &step.params_offset);
  }
  pass.DispatchWorkgroups(step.grid.x, step.grid.y, step.grid.z);
}

}  // namespace

Status Stream::begin_recording() {
  if (state_->draft) {
    return fail(ErrorCode::invalid_argument, "The stream is recording already.");
  }
  if (Status status = state_->submit(); !status) return status;
  state_->draft.emplace();
  return {};
}

Result<Recording> Stream::end_recording() {
  DeviceState& device = *state_->device;
  if (!state_->draft) return fail(ErrorCode::invalid_argument, "The stream is not recording.");
  RecordingDraft draft = std::move(*state_->draft);
  state_->draft.reset();
  if (Status status = device.errors.take(); !status) return std::unexpected(status.error());

  std::shared_ptr<RecordingState> recording(new RecordingState, CloseUnlessProcessEnds{});
  recording->device = state_->device;
  recording->steps = std::move(draft.steps);
  ParamsRange params;
  if (!draft.params.empty()) {
    wgpu::BufferDescriptor descriptor;
    descriptor.label = "weft.recording.params";
    descriptor.size = round_up<std::uint64_t>(draft.params.size(), 16);
    descriptor.usage = wgpu::BufferUsage::Uniform | wgpu::BufferUsage::CopyDst;
    auto made = make_buffer(device.instance, device.device, device.host.blocking, descriptor,
                            device.errors);
    if (!made) {
      if (Status lost = device.errors.take(); !lost) return std::unexpected(lost.error());
      return fail(ErrorCode::out_of_memory,
                  "{} bytes for the parameters of a recording could not be had: {}",
                  draft.params.size(), made.error());
    }
    recording->params = std::move(*made);
    device.queue.WriteBuffer(recording->params, 0, draft.params.data(), draft.params.size());
    params = {&recording->params, next_id(), 0};
  }
  // The groups belong to the recording and not to the device's cache, which might drop them.
  BindGroupCache groups(device.device, recording->steps.size() + 1);
  std::vector<BindRange> ranges;
  recording->replay.reserve(recording->steps.size());
  for (const Step& step : recording->steps) {
    to_ranges(step.bindings, ranges);
    const bool has_params = step.kernel->layout->params_bytes > 0;
    ReplayStep next;
    next.pipeline = step.kernel->pipeline;
    params.offset = step.params_offset;
    next.group = groups.get(*step.kernel, ranges, has_params ? params : ParamsRange{});
    next.params_offset = step.params_offset;
    next.dynamic_params = step.kernel->layout->dynamic_params;
    next.grid = step.grid;
    if (!recording->replay.empty()) {
      const ReplayStep& last = recording->replay.back();
      next.new_pipeline = last.pipeline.Get() != next.pipeline.Get();
      next.new_group =
          last.group.Get() != next.group.Get() || last.params_offset != next.params_offset;
    }
    recording->replay.push_back(std::move(next));
  }
  if (Status status = device.errors.take(); !status) return std::unexpected(status.error());
  return Unwrap::wrap<Recording>(std::move(recording));
}

std::size_t Recording::size() const { return state_ ? state_->steps.size() : 0; }

Status Recording::set_params(std::size_t index, std::span<const std::byte> params) {
  if (index >= size()) {
    return fail(ErrorCode::invalid_argument,
                "The recording has {} dispatches; there is no number {}.", size(), index);
  }
  if (Status status = state_->device->errors.take(); !status) return status;
  const Step& step = state_->steps[index];
  if (params.size() != step.kernel->layout->params_bytes) {
    return fail(
        ErrorCode::invalid_argument,
        "Dispatch {} of the recording (\"{}\") has {} bytes of parameters, but {} were given.",
        index, step.kernel->label, step.kernel->layout->params_bytes, params.size());
  }
  if (params.empty()) return {};
  state_->device->queue.WriteBuffer(state_->params, step.params_offset, params.data(),
                                    params.size());
  return {};
}

namespace {

/// Encodes `times` replays and hands the batches over one by one.
template <class Take>
void encode_replays(const wgpu::Device& device, const RecordingState& recording,
                    std::uint32_t times, const Take& take) {
  const std::size_t total = recording.replay.size() * times;
  std::size_t at = 0;  // The index of the step inside the recording.
  std::size_t batch = first_replay_batch;
  for (std::size_t done = 0; done < total;) {
    const wgpu::CommandEncoder encoder = device.CreateCommandEncoder();
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
    const std::size_t count = std::min(batch, total - done);
    batch = std::min(2 * batch, largest_replay_batch);
    for (std::size_t i = 0; i < count; ++i) {
      encode_step(pass, recording.replay[at], i == 0 || at == 0);
      if (++at == recording.replay.size()) at = 0;
    }
    pass.End();
    take(encoder.Finish());
    done += count;
  }
}

}  // namespace

Status StreamState::replay(RecordingState& recording, std::uint32_t times) {
  if (Status status = submit(); !status) return status;
  if (device->profiler && device->profiler->timestamps()) return replay_profiled(recording, times);
  const HostScope scope(device->profiler.get(), "replay");
  if (device->watchdog.on()) return replay_watched(recording, times);
  const auto run = [this](const wgpu::CommandBuffer& commands) {
    gpu::submit(device->device, device->queue, commands);
  };
  if (times > 0) {
    std::vector<wgpu::CommandBuffer> ahead;
    {
      const std::scoped_lock lock(recording.ahead_mutex);
      ahead.swap(recording.ahead);
    }
    std::ranges::for_each(ahead, run);
    if (!ahead.empty()) --times;
  }
  encode_replays(device->device, recording, times, run);
  return device->errors.take();
}

Status StreamState::encode_ahead(RecordingState& recording) {
  if ((device->profiler && device->profiler->timestamps()) || device->watchdog.on()) return {};
  const std::scoped_lock lock(recording.ahead_mutex);
  if (!recording.ahead.empty()) return {};
  // All of them or none: a replay takes what is there for the whole.
  std::vector<wgpu::CommandBuffer> whole;
  encode_replays(device->device, recording, 1,
                 [&whole](wgpu::CommandBuffer commands) { whole.push_back(std::move(commands)); });
  recording.ahead = std::move(whole);
  return device->errors.take();
}

Status StreamState::replay_profiled(const RecordingState& recording, std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) {
    for (std::size_t at = 0; at < recording.replay.size(); ++at) {
      open_pass(recording.steps[at].kernel->label, recording.steps[at].note);
      encode_step(pass_, recording.replay[at], true);
      if (Status status = count_command(); !status) return status;
    }
  }
  return submit();
}

Status StreamState::replay_watched(const RecordingState& recording, std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) {
    for (std::size_t at = 0; at < recording.replay.size(); ++at) {
      open_pass(recording.steps[at].kernel->label, recording.steps[at].note);
      encode_step(pass_, recording.replay[at], true);
      last_ = formatted("The kernel \"{}\"", recording.steps[at].kernel->label);
      if (Status status = submit(); !status) return status;
    }
  }
  return device->errors.take();
}

Result<double> StreamState::time_replay(RecordingState& recording, std::uint32_t times) {
  if (Status status = wait(); !status) return std::unexpected(status.error());
  if (!device->info.caps.timestamps) {
    const auto start = std::chrono::steady_clock::now();
    if (Status status = replay(recording, times); !status) return std::unexpected(status.error());
    if (Status status = wait(); !status) return std::unexpected(status.error());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  wgpu::QuerySetDescriptor queries;
  queries.type = wgpu::QueryType::Timestamp;
  queries.count = 2;
  wgpu::PassTimestampWrites writes;
  writes.querySet = device->device.CreateQuerySet(&queries);
  writes.beginningOfPassWriteIndex = 0;
  writes.endOfPassWriteIndex = 1;
  wgpu::ComputePassDescriptor descriptor;
  descriptor.timestampWrites = &writes;
  const wgpu::CommandEncoder encoder = device->device.CreateCommandEncoder();
  const wgpu::ComputePassEncoder pass = encoder.BeginComputePass(&descriptor);
  for (std::uint32_t i = 0; i < times; ++i) {
    for (std::size_t at = 0; at < recording.replay.size(); ++at) {
      encode_step(pass, recording.replay[at], at == 0);
    }
  }
  pass.End();
  const Result<std::vector<std::uint64_t>> ticks =
      read_queries(*device, encoder, writes.querySet, 2);
  if (!ticks) return std::unexpected(ticks.error());
  const std::uint64_t begin = ticks->front();
  const std::uint64_t end = std::max(ticks->back(), begin);
  return static_cast<double>(end - begin) * 1e-9;
}

namespace {

Status check_replay(const StreamState& stream, const RecordingState* recording) {
  if (recording == nullptr) return fail(ErrorCode::invalid_argument, "The recording is empty.");
  if (recording->device != stream.device) {
    return fail(ErrorCode::invalid_argument, "The recording belongs to another device.");
  }
  if (stream.draft) {
    return fail(ErrorCode::invalid_argument, "A recording cannot be replayed while recording.");
  }
  return {};
}

}  // namespace

Status Stream::replay(const Recording& recording, std::uint32_t times) {
  const auto& state = Unwrap::state(recording);
  if (Status ok = check_replay(*state_, state.get()); !ok) return ok;
  return state_->replay(*state, times);
}

Status Stream::encode_ahead(const Recording& recording) {
  const auto& state = Unwrap::state(recording);
  if (Status ok = check_replay(*state_, state.get()); !ok) return ok;
  return state_->encode_ahead(*state);
}

Result<double> Stream::time_replay(const Recording& recording, std::uint32_t times) {
  const auto& state = Unwrap::state(recording);
  if (!state || state->device != state_->device || state_->draft) {
    return fail(ErrorCode::invalid_argument,
                "A recording of this device is needed, and the stream must not be recording.");
  }
  return state_->time_replay(*state, times);
}

}  // namespace weft::gpu
