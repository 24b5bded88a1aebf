#include "gpu/staging.hpp"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "gpu/callback_text.hpp"
#include "gpu/make_buffer.hpp"

namespace weft::gpu {

StagingPool::StagingPool(wgpu::Instance instance, wgpu::Device device, bool blocking,
                         ErrorSink& errors, std::uint64_t limit)
    : instance_(std::move(instance)),
      device_(std::move(device)),
      blocking_(blocking),
      errors_(errors),
      limit_(limit) {}

Result<wgpu::Buffer> StagingPool::take(std::uint64_t bytes) {
  const std::uint64_t wanted = std::bit_ceil(std::max<std::uint64_t>(bytes, 4096));
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = free_.find(wanted); found != free_.end()) {
      wgpu::Buffer buffer = std::move(found->second);
      free_.erase(found);
      unused_ -= wanted;
      return buffer;
    }
  }
  wgpu::BufferDescriptor descriptor;
  descriptor.label = "weft.staging";
  descriptor.size = wanted;
  descriptor.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst;
  auto made = make_buffer(instance_, device_, blocking_, descriptor, errors_);
  if (!made) {
    trim();  // What the pool holds may be just what is missing.
    made = make_buffer(instance_, device_, blocking_, descriptor, errors_);
  }
  if (!made) {
    if (Status lost = errors_.take(); !lost) return std::unexpected(lost.error());
    return fail(ErrorCode::out_of_memory,
                "A buffer of {} bytes for reading back could not be made: {}", wanted,
                made.error());
  }
  const std::scoped_lock lock(mutex_);
  total_ += wanted;
  return std::move(*made);
}

void StagingPool::give_back(wgpu::Buffer buffer, bool good) noexcept {
  const std::uint64_t bytes = buffer.GetSize();
  const std::scoped_lock lock(mutex_);
  if (good && unused_ + bytes <= limit_) {
    try {
      free_.emplace(bytes, std::move(buffer));
      unused_ += bytes;
      return;
    } catch (...) {
      // No memory for the entry: the buffer goes.
    }
  }
  total_ -= bytes;
}

void StagingPool::trim() {
  const std::scoped_lock lock(mutex_);
  free_.clear();
  total_ -= unused_;
  unused_ = 0;
}

std::uint64_t StagingPool::bytes() const {
  const std::scoped_lock lock(mutex_);
  return total_;
}

MappedRead::MappedRead(wgpu::Instance instance, std::shared_ptr<StagingPool> pool,
                       wgpu::Buffer buffer, std::uint64_t bytes, bool fails)
    : instance_(std::move(instance)),
      pool_(std::move(pool)),
      buffer_(std::move(buffer)),
      bytes_(bytes) {
  if (fails) {
    *answer_ = {wgpu::MapAsyncStatus::Error, "by order of a test", true};
    return;
  }
  future_ =
      buffer_.MapAsync(wgpu::MapMode::Read, 0, bytes_, wgpu::CallbackMode::WaitAnyOnly,
                       [answer = answer_](wgpu::MapAsyncStatus status, wgpu::StringView message) {
                         answer->status = status;
                         put_text(answer->message, [&] { return text(message); });
                         answer->arrived = true;
                       });
}

MappedRead::~MappedRead() {
  buffer_.Unmap();  // Also ends a mapping that has not arrived.
  pool_->give_back(std::move(buffer_),
                   !answer_->arrived || answer_->status == wgpu::MapAsyncStatus::Success);
}

bool MappedRead::ready() {
  if (answer_->arrived) return true;
  wgpu::FutureWaitInfo info;
  info.future = future_;
  return instance_.WaitAny(1, &info, 0) == wgpu::WaitStatus::Success;
}

void MappedRead::poll(std::chrono::microseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!ready() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

Status MappedRead::wait(Watchdog& watchdog, ErrorSink& errors) {
  if (!answer_->arrived) {
    if (Status status = watchdog.wait(instance_, future_, "a read-back", errors); !status) {
      return status;
    }
  }
  if (answer_->status == wgpu::MapAsyncStatus::Success) return {};
  if (Status status = errors.take(); !status) return status;
  return fail(ErrorCode::internal, "A read-back of {} bytes failed: {}", bytes_, answer_->message);
}

std::span<const std::byte> MappedRead::bytes() const {
  const void* data = buffer_.GetConstMappedRange(0, bytes_);
  if (data == nullptr) return {};
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes_)};
}

}  // namespace weft::gpu
