#include "gpu/profiler.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu/device_state.hpp"
#include "gpu/make_buffer.hpp"

namespace weft::gpu {
namespace {

Result<wgpu::Buffer> resolve_queries(const wgpu::Device& device, StagingPool& staging,
                                     const wgpu::CommandEncoder& encoder,
                                     const wgpu::QuerySet& queries, std::uint32_t count) {
  wgpu::BufferDescriptor descriptor;
  descriptor.label = "weft.times";
  descriptor.size = std::uint64_t{8} * count;
  descriptor.usage = wgpu::BufferUsage::QueryResolve | wgpu::BufferUsage::CopySrc;
  const wgpu::Buffer resolved = device.CreateBuffer(&descriptor);
  Result<wgpu::Buffer> target = staging.take(descriptor.size);
  if (!target) return target;
  encoder.ResolveQuerySet(queries, 0, count, resolved, 0);
  encoder.CopyBufferToBuffer(resolved, 0, *target, 0, descriptor.size);
  return target;
}

std::vector<std::uint64_t> ticks_of(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> ticks(bytes.size() / 8);
  if (!ticks.empty()) std::memcpy(ticks.data(), bytes.data(), ticks.size() * 8);
  return ticks;
}

}  // namespace

Result<std::vector<std::uint64_t>> read_queries(DeviceState& device,
                                                const wgpu::CommandEncoder& encoder,
                                                const wgpu::QuerySet& queries,
                                                std::uint32_t count) {
  Result<wgpu::Buffer> staging =
      resolve_queries(device.device, *device.staging, encoder, queries, count);
  if (!staging) return std::unexpected(staging.error());
  submit(device.device, device.queue, encoder.Finish());
  MappedRead read(device.instance, device.staging, std::move(*staging), std::uint64_t{8} * count);
  if (Status status = read.wait(device.watchdog, device.errors); !status) {
    return std::unexpected(status.error());
  }
  std::vector<std::uint64_t> ticks = ticks_of(read.bytes());
  if (ticks.size() != count) {
    return fail(ErrorCode::internal, "{} timestamps were read where {} were expected.",
                ticks.size(), count);
  }
  return ticks;
}

Profiler::Profiler(wgpu::Instance instance, wgpu::Device device,
                   std::shared_ptr<StagingPool> staging, bool timestamps)
    : instance_(std::move(instance)),
      device_(std::move(device)),
      staging_(std::move(staging)),
      timestamps_(timestamps) {}

double Profiler::seconds(Clock::time_point time) const {
  return std::chrono::duration<double>(time - origin_).count();
}

void Profiler::host(std::string_view label, Clock::time_point start) {
  const Clock::time_point end = Clock::now();
  const std::scoped_lock lock(mutex_);
  const auto [thread, added] =
      threads_.try_emplace(std::this_thread::get_id(), threads_.size() + 1);
  host_.push_back(
      {std::string(label), seconds(start), seconds(end) - seconds(start), thread->second, {}});
}

Profiler::Batch Profiler::begin_batch() {
  const std::scoped_lock lock(mutex_);
  Batch batch;
  if (!idle_.empty()) {
    batch.queries = std::move(idle_.back());
    idle_.pop_back();
    return batch;
  }
  wgpu::QuerySetDescriptor descriptor;
  descriptor.label = "weft.times";
  descriptor.type = wgpu::QueryType::Timestamp;
  descriptor.count = 2 * batch_size;
  batch.queries = device_.CreateQuerySet(&descriptor);
  return batch;
}

Result<wgpu::Buffer> Profiler::resolve(const Batch& batch, const wgpu::CommandEncoder& encoder) {
  return resolve_queries(device_, *staging_, encoder, batch.queries,
                         static_cast<std::uint32_t>(2 * batch.labels.size()));
}

void Profiler::submitted(Batch batch, wgpu::Buffer times) {
  const std::uint64_t bytes = std::uint64_t{16} * batch.labels.size();
  auto read = std::make_unique<MappedRead>(instance_, staging_, std::move(times), bytes);
  const std::scoped_lock lock(mutex_);
  // Query results were copied out by the submission, so the set can be written again.
  idle_.push_back(std::move(batch.queries));
  waiting_.push_back({std::move(batch), std::move(read)});
}

Result<Profile> Profiler::take(ErrorSink& errors) {
  std::vector<Waiting> batches;
  Profile profile;
  {
    const std::scoped_lock lock(mutex_);
    batches = std::move(waiting_);
    waiting_.clear();
    profile.host = std::move(host_);
    host_.clear();
  }
  // The device's clock has its own zero. The shift chosen is the least with which no dispatch
  // starts before the host submitted it.
  double shift = -1e300;
  for (Waiting& waiting : batches) {
    Watchdog none;  // All work was waited for before.
    if (Status status = waiting.read->wait(none, errors); !status) {
      return std::unexpected(status.error());
    }
    const std::vector<std::uint64_t> ticks = ticks_of(waiting.read->bytes());
    if (ticks.size() < 2 * waiting.batch.labels.size()) continue;
    for (std::size_t i = 0; i < waiting.batch.labels.size(); ++i) {
      const double start = static_cast<double>(ticks[2 * i]) * 1e-9;
      const double end = static_cast<double>(ticks[2 * i + 1]) * 1e-9;
      if (i == 0) shift = std::max(shift, seconds(waiting.batch.submitted) - start);
      profile.gpu.push_back({waiting.batch.labels[i], start, std::max(end - start, 0.0), 0,
                             std::move(waiting.batch.notes[i])});
    }
  }
  for (ProfileEvent& event : profile.gpu) event.start += shift;
  return profile;
}

}  // namespace weft::gpu
