#include <algorithm>
#include <utility>

#include "base/math.hpp"
#include "gpu/fault.hpp"
#include "gpu/process_end.hpp"
#include "gpu/stream_state.hpp"

// The handles of gpu.hpp: what is left of their calls after the files that own the work.

namespace weft::gpu {

std::uint64_t Buffer::size() const { return state_ ? state_->size : 0; }
// A buffer without bytes can be bound: no block of memory is smaller, and kernels read nothing of
// it.
std::uint64_t Buffer::capacity() const {
  return round_up<std::uint64_t>(std::max<std::uint64_t>(size(), 1), 16);
}
std::uint64_t Buffer::id() const { return state_ ? state_->id : 0; }

const std::string& Kernel::label() const {
  static const std::string none;
  return state_ ? state_->label : none;
}

const Caps& Device::caps() const { return state_->info.caps; }
const AdapterInfo& Device::info() const { return state_->info; }
Mode Device::mode() const { return state_->mode; }

Result<Buffer> Device::allocate(std::uint64_t bytes, std::string_view label) {
  watch_process_end();
  if (Status status = state_->errors.take(); !status) return std::unexpected(status.error());
  // First, so that there is nothing to fail when the block is there.
  auto made = std::make_shared<BufferState>(state_, bytes);
  Result<Block> block = state_->pool->take(bytes, label);
  if (!block) {
    // A lost device refuses buffers too; then that is the reason to name.
    if (Status lost = state_->errors.take(); !lost) return std::unexpected(lost.error());
    return std::unexpected(block.error());
  }
  made->block = std::move(*block);
  return Unwrap::wrap<Buffer>(std::shared_ptr<const BufferState>(std::move(made)));
}

Result<Kernel> Device::compile(const KernelDesc& desc) {
  Result<std::vector<Kernel>> kernels = compile_all(std::span(&desc, 1));
  if (!kernels) return std::unexpected(kernels.error());
  return std::move(kernels->front());
}

Result<std::vector<Kernel>> Device::compile_all(std::span<const KernelDesc> descs) {
  if (Status status = state_->errors.take(); !status) return std::unexpected(status.error());
  const HostScope scope(state_->profiler.get(), "compile");
  auto states = state_->pipelines->get(descs);
  if (!states) return std::unexpected(states.error());
  std::vector<Kernel> kernels;
  kernels.reserve(states->size());
  for (auto& kernel : *states) kernels.push_back(Unwrap::wrap<Kernel>(std::move(kernel)));
  return kernels;
}

Status Device::copy(const Slice& from, const Slice& to) {
  Stream recorder = stream();
  if (Status status = recorder.copy(from, to); !status) return status;
  return recorder.submit();
}

Status Device::fill(const Slice& to, std::uint8_t byte) {
  Stream recorder = stream();
  if (Status status = recorder.fill(to, byte); !status) return status;
  return recorder.submit();
}

Stream Device::stream() const {
  watch_process_end();
  return Unwrap::stream(std::make_unique<StreamState>(state_));
}

Status Device::synchronize() {
  if (Status status = state_->errors.take(); !status) return status;
  const HostScope scope(state_->profiler.get(), "wait");
  const wgpu::Future future = state_->queue.OnSubmittedWorkDone(
      wgpu::CallbackMode::WaitAnyOnly, [](wgpu::QueueWorkDoneStatus, wgpu::StringView) {});
  if (Status status = state_->watchdog.wait(state_->instance, future, "the queue", state_->errors);
      !status) {
    return status;
  }
  if (fails_now(Call::work, state_->device)) {
    return fail(ErrorCode::internal, "Waiting for the queue failed (by order of a test).");
  }
  return state_->errors.take();
}

Status Device::poll() {
  if (state_->forked()) return state_->errors.take();
  state_->instance.ProcessEvents();
  return state_->errors.take();
}

MemoryStats Device::memory() const {
  MemoryStats stats;
  state_->pool->fill_in(stats);
  stats.staging = state_->staging->bytes();
  return stats;
}

CacheStats Device::cache() const {
  CacheStats stats;
  state_->pipelines->fill_in(stats);
  stats.bind_groups = state_->bind_groups->made();
  if (state_->disk) {
    stats.disk_hits = state_->disk->hits();
    stats.disk_stores = state_->disk->stores();
  }
  return stats;
}

void Device::trim() {
  state_->pool->trim();
  state_->staging->trim();
}

Result<Profile> Device::profile() {
  if (!state_->profiler) return Profile{};
  if (Status status = synchronize(); !status) return std::unexpected(status.error());
  return state_->profiler->take(state_->errors);
}

HostTime::HostTime(const Device& device, std::string_view label) {
  Profiler* profiler = Unwrap::state(device)->profiler.get();
  if (profiler != nullptr) scope_ = std::make_unique<HostScope>(profiler, label);
}
HostTime::~HostTime() = default;

Status Device::lose_for_test(std::string_view reason) {
  state_->device.ForceLoss(wgpu::DeviceLostReason::Unknown, reason);
  state_->instance.ProcessEvents();
  return {};
}

Status Device::inject_error_for_test(ErrorCode code, std::string_view message) {
  const wgpu::ErrorType type = code == ErrorCode::out_of_memory      ? wgpu::ErrorType::OutOfMemory
                               : code == ErrorCode::invalid_argument ? wgpu::ErrorType::Validation
                                                                     : wgpu::ErrorType::Internal;
  state_->device.InjectError(type, message);
  return {};
}

Status Device::fail_allocations_for_test(std::uint32_t count) {
  state_->pool->fail_next(count);
  return {};
}

}  // namespace weft::gpu
