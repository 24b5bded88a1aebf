#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "gpu/make_buffer.hpp"
#include "gpu/process_end.hpp"
#include "gpu/stream_state.hpp"

namespace weft::gpu {
void to_ranges(std::span<const Slice> bindings, std::vector<BindRange>& ranges) {
  ranges.clear();
  for (const Slice& slice : bindings) {
    const BufferState& buffer = *Unwrap::state(slice.buffer);
    ranges.push_back({&buffer.block.buffer, buffer.block.id, slice.offset,
                      round_up<std::uint64_t>(slice.size, 4)});
  }
}

namespace {

/// WebGPU's rule: what one binding writes, no other binding of the dispatch may read, and two that
/// write must not overlap. Fast mode leaves it to the kernel, for which disjoint ranges are enough.
Status check_aliases(const KernelState& kernel, std::span<const Slice> bindings) {
  const std::vector<Access>& access = kernel.layout->bindings;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    for (std::size_t j = i + 1; j < bindings.size(); ++j) {
      const Slice& a = bindings[i];
      const Slice& b = bindings[j];
      if (a.buffer != b.buffer || (access[i] == Access::read && access[j] == Access::read))
        continue;
      const bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
      if (access[i] == Access::write && access[j] == Access::write && apart) continue;
      return fail(ErrorCode::invalid_argument,
                  "Bindings {} and {} of the kernel \"{}\" have the same buffer, and one of them "
                  "writes it; in safe mode that is not allowed.",
                  i, j, kernel.label);
    }
  }
  return {};
}

}  // namespace

StreamState::StreamState(std::shared_ptr<DeviceState> owner) : device(std::move(owner)) {}

StreamState::~StreamState() {
  if (process_ends() || device->errors.forked()) return;
  draft.reset();
  if (Status status = submit(); !status && status.error().code != ErrorCode::device_lost) {
    device->errors.record(status.error().code, status.error().message);
  }
  if (page_.buffer != nullptr) device->give_back(std::move(page_));
}

Status StreamState::check(const KernelState& kernel, std::span<const Slice> bindings,
                          std::span<const std::byte> params, Grid grid) const {
  const Caps& caps = device->info.caps;
  const LayoutState& layout = *kernel.layout;
  if (kernel.device_id != device->id) {
    return fail(ErrorCode::invalid_argument, "The kernel \"{}\" belongs to another device.",
                kernel.label);
  }
  if (bindings.size() != layout.bindings.size()) {
    return fail(ErrorCode::invalid_argument,
                "The kernel \"{}\" has {} bindings, but {} were given.", kernel.label,
                layout.bindings.size(), bindings.size());
  }
  if (params.size() != layout.params_bytes) {
    return fail(ErrorCode::invalid_argument,
                "The kernel \"{}\" has {} bytes of parameters, but {} were given.", kernel.label,
                layout.params_bytes, params.size());
  }
  if (grid.x > caps.max_workgroups || grid.y > caps.max_workgroups ||
      grid.z > caps.max_workgroups) {
    return fail(ErrorCode::unsupported,
                "The kernel \"{}\" was given a grid of {} x {} x {} workgroups, but this device "
                "allows {} in each dimension.",
                kernel.label, grid.x, grid.y, grid.z, caps.max_workgroups);
  }
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const Slice& slice = bindings[i];
    const auto& buffer = Unwrap::state(slice.buffer);
    if (!buffer || buffer->device != device) {
      return fail(ErrorCode::invalid_argument, "Binding {} of the kernel \"{}\" has {}.", i,
                  kernel.label, buffer ? "a buffer of another device" : "no buffer");
    }
    const std::uint64_t size = round_up<std::uint64_t>(slice.size, 4);
    const std::uint64_t capacity = slice.buffer.capacity();
    if (slice.size == 0 || slice.offset > capacity || size > capacity - slice.offset) {
      return fail(
          ErrorCode::invalid_argument,
          "Binding {} of the kernel \"{}\" covers {} bytes at offset {} of a buffer that has "
          "{} bytes.",
          i, kernel.label, slice.size, slice.offset, buffer->size);
    }
    if (slice.offset % caps.binding_alignment != 0) {
      return fail(
          ErrorCode::invalid_argument,
          "Binding {} of the kernel \"{}\" starts at byte {}, which is not a multiple of {}.", i,
          kernel.label, slice.offset, caps.binding_alignment);
    }
    if (size > caps.max_binding) {
      return fail(ErrorCode::unsupported,
                  "Binding {} of the kernel \"{}\" covers {} bytes, but this device allows {}.", i,
                  kernel.label, size, caps.max_binding);
    }
  }
  return device->mode == Mode::safe ? check_aliases(kernel, bindings) : Status{};
}

Status StreamState::dispatch(const std::shared_ptr<const KernelState>& kernel,
                             std::span<const Slice> bindings, std::span<const std::byte> params,
                             Grid grid, std::string_view note) {
  if (Status status = device->errors.take(); !status) return status;
  if (!kernel) return fail(ErrorCode::invalid_argument, "The dispatch has no kernel.");
  if (Status status = check(*kernel, bindings, params, grid); !status) return status;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return {};
  if (!draft) return encode(*kernel, bindings, params, grid, note);

  Step& step = draft->steps.emplace_back();
  step.kernel = kernel;
  step.bindings.assign(bindings.begin(), bindings.end());
  step.grid = grid;
  step.note = note;
  if (kernel->layout->params_bytes > 0) {
    const std::size_t offset =
        round_up<std::size_t>(draft->params.size(), device->uniform_alignment);
    step.params_offset = static_cast<std::uint32_t>(offset);
    draft->params.resize(offset + kernel->layout->params_size);
    std::memcpy(draft->params.data() + offset, params.data(), params.size());
  }
  return {};
}

Status StreamState::encode(const KernelState& kernel, std::span<const Slice> bindings,
                           std::span<const std::byte> params, Grid grid, std::string_view note) {
  const std::uint32_t params_size = kernel.layout->params_size;
  std::size_t offset = round_up<std::size_t>(params_.size(), device->uniform_alignment);
  if (commands_ >= most_commands || offset + params_size > params_page_bytes) {
    if (Status status = submit(); !status) return status;
    offset = 0;
  }
  if (page_.buffer == nullptr) {
    Result<ParamsPage> page = device->take_page();
    if (!page) return std::unexpected(page.error());
    page_ = std::move(*page);
  }
  ParamsRange params_range;
  if (params_size > 0) {
    params_.resize(offset + params_size);
    std::memcpy(params_.data() + offset, params.data(), params.size());
    params_range = {&page_.buffer, page_.id, offset};
  }
  thread_local std::vector<BindRange> ranges;
  to_ranges(bindings, ranges);
  const wgpu::BindGroup group = device->bind_groups->get(kernel, ranges, params_range);
  ranges.clear();
  for (const Slice& slice : bindings) retain(slice.buffer);

  open_pass(kernel.label, note);
  if (pipeline_ != &kernel) {
    pass_.SetPipeline(kernel.pipeline);
    pipeline_ = &kernel;
  }
  const auto dynamic = static_cast<std::uint32_t>(offset);
  pass_.SetBindGroup(0, group, kernel.layout->dynamic_params ? 1 : 0, &dynamic);
  pass_.DispatchWorkgroups(grid.x, grid.y, grid.z);
  ++commands_;
  if (!device->watchdog.on()) return {};
  last_ = formatted("The kernel \"{}\"", kernel.label);
  return submit();  // By itself, so that it is known what runs.
}

void StreamState::retain(const Buffer& buffer) {
  // Streams touch the same few buffers again and again: the last ones are looked at, not all.
  const std::size_t look = std::min<std::size_t>(retained_.size(), 8);
  for (std::size_t i = retained_.size() - look; i < retained_.size(); ++i) {
    if (retained_[i] == buffer) return;
  }
  retained_.push_back(buffer);
}

void StreamState::open_encoder() {
  if (encoder_ == nullptr) encoder_ = device->device.CreateCommandEncoder();
}

void StreamState::open_pass(const std::string& label, std::string_view note) {
  open_encoder();
  Profiler* profiler = device->profiler.get();
  if (profiler == nullptr || !profiler->timestamps()) {
    if (pass_ == nullptr) pass_ = encoder_.BeginComputePass();
    return;
  }
  // Timestamps exist at the ends of a pass only, so every dispatch gets a pass of its own.
  close_pass();
  if (!batch_) batch_ = profiler->begin_batch();
  wgpu::PassTimestampWrites writes;
  writes.querySet = batch_->queries;
  writes.beginningOfPassWriteIndex = static_cast<std::uint32_t>(2 * batch_->labels.size());
  writes.endOfPassWriteIndex = writes.beginningOfPassWriteIndex + 1;
  wgpu::ComputePassDescriptor descriptor;
  descriptor.timestampWrites = &writes;
  pass_ = encoder_.BeginComputePass(&descriptor);
  batch_->labels.push_back(label);
  batch_->notes.emplace_back(note);
}

void StreamState::close_pass() {
  if (pass_ == nullptr) return;
  pass_.End();
  pass_ = nullptr;
  pipeline_ = nullptr;
}

const wgpu::CommandEncoder& StreamState::commands() {
  open_encoder();
  close_pass();
  return encoder_;
}

Status StreamState::count_command() {
  if (device->watchdog.on()) last_ = "A copy";
  if (++commands_ < most_commands) return {};
  return submit();
}

Status StreamState::submit() {
  if (Status status = device->errors.take(); !status) {
    // What was recorded is given up: it belongs to a failed sequence.
    close_pass();
    encoder_ = nullptr;
    batch_.reset();
    params_.clear();
    retained_.clear();
    commands_ = 0;
    return status;
  }
  if (encoder_ == nullptr) return {};
  const HostScope scope(device->profiler.get(), "submit");
  close_pass();
  wgpu::Buffer times;
  if (batch_) {
    if (auto resolved = device->profiler->resolve(*batch_, encoder_)) {
      times = std::move(*resolved);
    } else {
      batch_.reset();  // The work is done all the same; its times are not known.
    }
  }
  const wgpu::CommandBuffer commands = encoder_.Finish();
  if (!params_.empty()) {
    device->queue.WriteBuffer(page_.buffer, 0, params_.data(), params_.size());
  }
  if (batch_) batch_->submitted = Profiler::Clock::now();
  gpu::submit(device->device, device->queue, commands);
  if (device->watchdog.on()) {
    device->watchdog.submitted(device->instance, device->queue,
                               std::exchange(last_, "Work of a stream"));
  }
  if (batch_) device->profiler->submitted(std::move(*batch_), std::move(times));
  batch_.reset();
  encoder_ = nullptr;
  params_.clear();
  retained_.clear();
  commands_ = 0;
  return device->errors.take();
}

Status StreamState::wait() {
  if (Status status = submit(); !status) return status;
  return Unwrap::wrap<Device>(device).synchronize();
}

// The public face.

Stream Unwrap::stream(std::unique_ptr<StreamState> state) { return Stream(std::move(state)); }

Stream::Stream(std::unique_ptr<StreamState> state) : state_(std::move(state)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

Status Stream::dispatch(const Kernel& kernel, std::span<const Slice> bindings,
                        std::span<const std::byte> params, Grid grid, std::string_view note) {
  return state_->dispatch(Unwrap::state(kernel), bindings, params, grid, note);
}

Status Stream::copy(const Slice& from, const Slice& to) {
  DeviceState& device = *state_->device;
  if (Status status = device.errors.take(); !status) return status;
  if (Status status = check_slice(device, from, "copying from"); !status) return status;
  if (Status status = check_slice(device, to, "copying to"); !status) return status;
  if (from.size != to.size) {
    return fail(ErrorCode::invalid_argument, "A copy from {} bytes to {} bytes is not defined.",
                from.size, to.size);
  }
  return record_copy(*state_, from, to);
}

Status Stream::fill(const Slice& to, std::uint8_t byte) {
  DeviceState& device = *state_->device;
  if (Status status = device.errors.take(); !status) return status;
  if (Status status = check_slice(device, to, "filling"); !status) return status;
  return record_fill(*state_, to, std::uint32_t{byte} * 0x01010101);
}

Status Stream::write(const Slice& to, std::span<const std::byte> bytes) {
  if (state_->draft) {
    return fail(ErrorCode::invalid_argument, "Host bytes cannot be written while recording.");
  }
  if (Status status = state_->submit(); !status) return status;
  return Unwrap::wrap<Device>(state_->device).write(to, bytes);
}

Status Stream::read(const Slice& from, std::span<std::byte> bytes) {
  if (state_->draft) {
    return fail(ErrorCode::invalid_argument, "Bytes cannot be read back while recording.");
  }
  if (Status status = state_->submit(); !status) return status;
  return Unwrap::wrap<Device>(state_->device).read(from, bytes);
}

Status Stream::submit() { return state_->submit(); }
Status Stream::wait() { return state_->wait(); }

}  // namespace weft::gpu
