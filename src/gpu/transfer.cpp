#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "base/math.hpp"
#include "gpu/fault.hpp"
#include "gpu/make_buffer.hpp"
#include "gpu/stream_state.hpp"

// Host to device and back, at any byte offset and size.

namespace weft::gpu {
namespace {

constexpr std::uint64_t chunk_bytes = std::uint64_t{32} << 20;
// Chunks under way at a time: one is copied by the host while the device works on the other.
constexpr std::size_t chunks_in_flight = 2;
// How long a thread asks for bytes before it sleeps, on devices that do not need the thread's core
// themselves.
constexpr std::chrono::microseconds polling{2000};

/// A chunk of a read-back: the words that hold the wanted bytes.
struct ReadChunk {
  std::unique_ptr<MappedRead> mapped;
  std::uint64_t skip = 0;  ///< Bytes in front of the wanted ones.
  std::uint64_t size = 0;
};

Result<ReadChunk> start_read(DeviceState& device, const Slice& slice) {
  const std::uint64_t begin = round_down<std::uint64_t>(slice.offset, 4);
  const std::uint64_t end = round_up<std::uint64_t>(slice.offset + slice.size, 4);
  Result<wgpu::Buffer> staging = device.staging->take(end - begin);
  if (!staging) return std::unexpected(staging.error());
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder();
  encoder.CopyBufferToBuffer(Unwrap::state(slice.buffer)->block.buffer, begin, *staging, 0,
                             end - begin);
  submit(device.device, device.queue, encoder.Finish());
  return ReadChunk{
      std::make_unique<MappedRead>(device.instance, device.staging, std::move(*staging),
                                   end - begin, fails_now(Call::map, device.device)),
      slice.offset - begin, slice.size};
}

Status finish_read(DeviceState& device, ReadChunk& chunk, std::span<std::byte> to) {
  if (!device.info.is_software() && device.host.blocking) chunk.mapped->poll(polling);
  if (Status status = chunk.mapped->wait(device.watchdog, device.errors); !status) return status;
  const std::span<const std::byte> bytes = chunk.mapped->bytes();
  if (bytes.size() < chunk.skip + chunk.size) {
    if (Status status = device.errors.take(); !status) return status;
    return fail(ErrorCode::internal, "A read-back of {} bytes was mapped with {} bytes.",
                chunk.size, bytes.size());
  }
  std::memcpy(to.data(), bytes.data() + chunk.skip, chunk.size);
  // The copy to these bytes may be what failed.
  return device.errors.take();
}

Status check_transfer(DeviceState& device, const Slice& slice, std::size_t bytes,
                      std::string_view what) {
  if (Status status = device.errors.take(); !status) return status;
  if (Status status = check_slice(device, slice, what); !status) return status;
  if (slice.size != bytes) {
    return fail(ErrorCode::invalid_argument,
                "While {} a slice of {} bytes: the host range has {} bytes.", what, slice.size,
                bytes);
  }
  return {};
}

/// Writes the up to three bytes that share a word with bytes outside the slice.
Status write_edge(StreamState& stream, const Slice& to, std::span<const std::byte> bytes) {
  std::uint32_t pattern = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t lane = (to.offset + i) % 4;
    pattern |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * lane);
  }
  return record_fill(stream, to, pattern);
}

/// Notes bytes that were written. The implementation copies them to memory of its own and gives
/// that back when work is handed over after them, which takes an H200 20 ms for a GB: many writes,
/// or a large one, wait now and then, so that this memory stays small and no graph pays for it.
Status bound_uploads(DeviceState& device, std::uint64_t bytes) {
  if (!device.host.blocking) return {};
  std::optional<wgpu::Future> oldest;
  {
    Uploads& uploads = device.uploads;
    const std::scoped_lock lock(uploads.mutex);
    uploads.bytes += bytes;
    if (uploads.bytes < chunk_bytes) return {};
    uploads.bytes = 0;
    device.queue.Submit(0, nullptr);
    uploads.under_way.push_back(device.queue.OnSubmittedWorkDone(
        wgpu::CallbackMode::WaitAnyOnly, [](wgpu::QueueWorkDoneStatus, wgpu::StringView) {}));
    if (uploads.under_way.size() < chunks_in_flight) return {};
    oldest = uploads.under_way.front();
    uploads.under_way.pop_front();
  }
  return device.watchdog.wait(device.instance, *oldest, "an upload", device.errors);
}

/// Writes whole words.
Status write_words(DeviceState& device, const Slice& to, std::span<const std::byte> bytes) {
  const wgpu::Buffer& buffer = Unwrap::state(to.buffer)->block.buffer;
  for (std::uint64_t done = 0; done < bytes.size(); done += chunk_bytes) {
    const std::uint64_t size = std::min<std::uint64_t>(chunk_bytes, bytes.size() - done);
    device.queue.WriteBuffer(buffer, to.offset + done, bytes.data() + done, size);
    if (Status s = bound_uploads(device, size); !s) return s;
  }
  return {};
}

}  // namespace

/// What a Pending points to.
struct PendingState {
  std::shared_ptr<DeviceState> device;
  Buffer buffer;
  std::vector<ReadChunk> chunks;
  std::uint64_t size = 0;
  bool taken = false;
};

Status check_slice(const DeviceState& device, const Slice& slice, std::string_view what) {
  const auto& buffer = Unwrap::state(slice.buffer);
  if (!buffer)
    return fail(ErrorCode::invalid_argument, "While {} a slice: it has no buffer.", what);
  if (buffer->device.get() != &device) {
    return fail(ErrorCode::invalid_argument,
                "While {} a slice: its buffer belongs to another device.", what);
  }
  if (slice.offset > buffer->size || slice.size > buffer->size - slice.offset) {
    return fail(ErrorCode::invalid_argument,
                "While {} a slice: {} bytes at offset {} do not lie in a buffer of {} bytes.", what,
                slice.size, slice.offset, buffer->size);
  }
  return {};
}

Status Device::write(const Slice& to, std::span<const std::byte> bytes) {
  DeviceState& device = *state_;
  if (Status s = check_transfer(device, to, bytes.size(), "writing"); !s) return s;
  if (bytes.empty()) return {};
  const HostScope scope(device.profiler.get(), "write");
  const std::uint64_t end = to.offset + to.size;
  const std::uint64_t middle_begin = std::min(round_up<std::uint64_t>(to.offset, 4), end);
  const std::uint64_t middle_end = std::max(round_down<std::uint64_t>(end, 4), middle_begin);
  const std::uint64_t tail = end - middle_end;
  // The bytes between the end of a buffer and its capacity are nobody's, so the last word of a
  // buffer is written whole.
  const bool last_word = tail > 0 && end == to.buffer.size() && middle_end % 4 == 0;
  if (middle_begin != to.offset || (tail > 0 && !last_word)) {
    StreamState stream(state_);
    const std::uint64_t head = middle_begin - to.offset;
    if (Status s = write_edge(stream, {to.buffer, to.offset, head}, bytes.first(head)); !s)
      return s;
    if (!last_word) {
      if (Status s = write_edge(stream, {to.buffer, middle_end, tail}, bytes.last(tail)); !s)
        return s;
    }
    if (Status s = stream.submit(); !s) return s;
  }
  const Slice middle{to.buffer, middle_begin, middle_end - middle_begin};
  if (Status s = write_words(device, middle, bytes.subspan(middle_begin - to.offset, middle.size));
      !s) {
    return s;
  }
  if (last_word) {
    std::array<std::byte, 4> word{};
    std::ranges::copy(bytes.last(tail), word.begin());
    device.queue.WriteBuffer(Unwrap::state(to.buffer)->block.buffer, middle_end, word.data(), 4);
  }
  return device.errors.take();
}

Status Device::read(const Slice& from, std::span<std::byte> bytes) {
  DeviceState& device = *state_;
  if (Status s = check_transfer(device, from, bytes.size(), "reading"); !s) return s;
  const HostScope scope(device.profiler.get(), "read");
  std::deque<std::pair<std::uint64_t, ReadChunk>> under_way;
  std::uint64_t started = 0;
  while (started < from.size || !under_way.empty()) {
    while (started < from.size && under_way.size() < chunks_in_flight) {
      const std::uint64_t size = std::min(chunk_bytes, from.size - started);
      Result<ReadChunk> chunk = start_read(device, {from.buffer, from.offset + started, size});
      if (!chunk) return std::unexpected(chunk.error());
      under_way.emplace_back(started, std::move(*chunk));
      started += size;
    }
    auto& [offset, chunk] = under_way.front();
    if (Status s = finish_read(device, chunk, bytes.subspan(offset, chunk.size)); !s) return s;
    under_way.pop_front();
  }
  return {};
}

Result<Pending> Device::read_async(const Slice& from) {
  DeviceState& device = *state_;
  if (Status s = check_transfer(device, from, from.size, "reading"); !s) {
    return std::unexpected(s.error());
  }
  auto pending = std::make_shared<PendingState>();
  pending->device = state_;
  pending->buffer = from.buffer;
  pending->size = from.size;
  for (std::uint64_t done = 0; done < from.size; done += chunk_bytes) {
    const std::uint64_t size = std::min(chunk_bytes, from.size - done);
    Result<ReadChunk> chunk = start_read(device, {from.buffer, from.offset + done, size});
    if (!chunk) return std::unexpected(chunk.error());
    pending->chunks.push_back(std::move(*chunk));
  }
  if (Status s = device.errors.take(); !s) return std::unexpected(s.error());
  return Unwrap::wrap<Pending>(std::move(pending));
}

bool Pending::ready() const {
  if (!state_ || state_->device->forked()) return true;
  return std::ranges::all_of(state_->chunks,
                             [](ReadChunk& chunk) { return chunk.mapped->ready(); });
}

Status Pending::get(std::span<std::byte> to) {
  if (!state_ || state_->taken) {
    return fail(ErrorCode::invalid_argument,
                "The bytes of this read-back have been taken already.");
  }
  if (to.size() != state_->size) {
    return fail(ErrorCode::invalid_argument, "A read-back of {} bytes does not fit {} bytes.",
                state_->size, to.size());
  }
  if (state_->device->forked()) return state_->device->errors.take();
  state_->taken = true;
  const HostScope scope(state_->device->profiler.get(), "read");
  std::uint64_t done = 0;
  for (ReadChunk& chunk : state_->chunks) {
    if (Status s = finish_read(*state_->device, chunk, to.subspan(done, chunk.size)); !s) return s;
    done += chunk.size;
  }
  state_->chunks.clear();
  state_->buffer = {};
  return {};
}

Result<std::vector<std::byte>> Pending::get() {
  std::vector<std::byte> bytes(state_ ? state_->size : 0);
  if (Status s = get(bytes); !s) return std::unexpected(s.error());
  return bytes;
}

}  // namespace weft::gpu
