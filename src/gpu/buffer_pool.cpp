#include "gpu/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include "base/math.hpp"
#include "gpu/make_buffer.hpp"

namespace weft::gpu {
namespace {

constexpr std::uint64_t smallest_class = 256;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

}  // namespace

std::uint64_t size_class(std::uint64_t bytes, std::uint64_t limit) {
  bytes = std::max(bytes, smallest_class);
  std::uint64_t step = mebibyte;
  if (bytes < 64 * mebibyte) {
    // Four classes between a power of two and the next.
    step = std::max<std::uint64_t>(std::bit_floor(bytes) / 4, 64);
  }
  const std::uint64_t rounded = round_up(bytes, step);
  // Near the limit the class may be too large where the request itself is not.
  if (rounded > limit) return round_up<std::uint64_t>(bytes, 16);
  return rounded;
}

BufferPool::BufferPool(wgpu::Instance instance, wgpu::Device device, ErrorSink& errors,
                       Limits limits, std::function<void(std::uint64_t)> dropped)
    : instance_(std::move(instance)),
      device_(std::move(device)),
      errors_(errors),
      limits_(limits),
      dropped_(std::move(dropped)) {}

Result<Block> BufferPool::take(std::uint64_t bytes, std::string_view label) {
  if (bytes > limits_.max_buffer) {
    const std::scoped_lock lock(mutex_);
    return fail(ErrorCode::out_of_memory,
                "A buffer of {} bytes{}{} was asked for, but the largest buffer of this device has "
                "{} bytes ({} bytes are in use, {} are pooled).",
                bytes, label.empty() ? "" : " for ", label, limits_.max_buffer, in_use_, pooled_);
  }
  const std::uint64_t wanted = size_class(bytes, limits_.max_buffer);
  Result<Block> block = try_to_take(wanted, bytes, label);
  // Whoever was told may have let something go.
  if (!block && tell(true, bytes)) block = try_to_take(wanted, bytes, label);
  if (block) tell(false, bytes);
  return block;
}

Result<Block> BufferPool::try_to_take(std::uint64_t wanted, std::uint64_t bytes,
                                      std::string_view label) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = free_.find(wanted);
    if (found != free_.end()) {
      // The number of used blocks first: it may need memory.
      std::uint64_t& used = used_[wanted];
      Block block = std::move(found->second.back());
      found->second.pop_back();
      if (found->second.empty()) free_.erase(found);
      pooled_ -= block.bytes;
      ++reuses_;
      ++used;
      note_taken(block, bytes);
      return block;
    }
  }
  if (Status room = make_room(wanted, bytes, label); !room) return std::unexpected(room.error());
  Result<Block> made = create(wanted, bytes, label);
  if (!made) {
    trim();  // What the pool holds may be just what is missing.
    made = create(wanted, bytes, label);
  }
  if (!made) return made;
  const std::scoped_lock lock(mutex_);
  ++used_[wanted];
  ++allocations_;
  note_taken(*made, bytes);
  return made;
}

/// Under a limit, unused buffers make way for new ones.
Status BufferPool::make_room(std::uint64_t wanted, std::uint64_t bytes, std::string_view label) {
  const auto beside = [this] {
    const std::scoped_lock lock(mutex_);
    return !limit_ || limit_->bytes == 0 ? std::uint64_t{0} : in_use_ + pooled_;
  };
  const auto limit = [this] {
    const std::scoped_lock lock(mutex_);
    return limit_ && limit_->bytes != 0 ? limit_->bytes : std::numeric_limits<std::uint64_t>::max();
  }();
  const auto fits = [&] { return wanted <= limit && beside() <= limit - wanted; };
  if (fits()) return {};
  trim();
  if (fits()) return {};
  const std::scoped_lock lock(mutex_);
  return fail(ErrorCode::out_of_memory,
              "A buffer of {} bytes{}{} does not fit the limit of {} bytes that was set for this "
              "device ({} bytes are in use).",
              bytes, label.empty() ? "" : " for ", label, limit, in_use_);
}

/// Gives notice of a buffer that does not fit, or of one with which much of the limit is in use;
/// whether somebody was told.
bool BufferPool::tell(bool full, std::uint64_t bytes) {
  std::shared_ptr<const MemoryLimit> limit;
  MemoryEvent event;
  {
    const std::scoped_lock lock(mutex_);
    if (!limit_ || !limit_->notice || telling_) return false;
    if (!full) {
      const bool near = limit_->bytes > 0 && static_cast<double>(in_use_) >=
                                                 limit_->near * static_cast<double>(limit_->bytes);
      const bool news = near && !near_;
      near_ = near;
      if (!news) return false;
    }
    limit = limit_;
    event = {
        .full = full, .in_use = in_use_, .pooled = pooled_, .limit = limit_->bytes, .asked = bytes};
    telling_ = true;
  }
  try {
    limit->notice(event);
  } catch (...) {
    // An allocation is no place for somebody else's errors; what does not fit is reported by
    // itself.
  }
  const std::scoped_lock lock(mutex_);
  telling_ = false;
  return true;
}

void BufferPool::set_limit(MemoryLimit limit) {
  auto shared = std::make_shared<const MemoryLimit>(std::move(limit));
  const std::scoped_lock lock(mutex_);
  limit_ = std::move(shared);
  near_ = false;
}

void BufferPool::take_limit_of(const BufferPool& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  limit_ = other.limit_;
}

Result<Block> BufferPool::create(std::uint64_t bytes, std::uint64_t asked, std::string_view label) {
  wgpu::BufferDescriptor descriptor;
  descriptor.label = label;
  descriptor.size = bytes;
  descriptor.usage =
      wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  wgpu::DawnFakeBufferOOMForTesting full;
  {
    const std::scoped_lock lock(mutex_);
    if (fail_next_ > 0) {
      --fail_next_;
      full.fakeOOMAtDevice = true;
      descriptor.nextInChain = &full;
    }
  }
  auto buffer = make_buffer(instance_, device_, limits_.blocking, descriptor, errors_);
  if (!buffer) {
    const std::scoped_lock lock(mutex_);
    return fail(
        ErrorCode::out_of_memory,
        "A buffer of {} bytes{}{} could not be made ({} bytes are in use, {} are pooled, the "
        "largest buffer has {}): {}",
        asked, label.empty() ? "" : " for ", label, in_use_, pooled_, limits_.max_buffer,
        buffer.error());
  }
  return Block{std::move(*buffer), bytes, next_id()};
}

void BufferPool::note_taken(Block& block, std::uint64_t asked) {
  block.asked = asked;
  asked_ += asked;
  in_use_ += block.bytes;
  peak_ = std::max(peak_, in_use_);
}

void BufferPool::give_back(Block block) noexcept {
  bool kept = false;
  {
    const std::scoped_lock lock(mutex_);
    in_use_ -= block.bytes;
    asked_ -= block.asked;
    --used_.find(block.bytes)->second;
    block.stamp = ++stamp_;
    kept = keep(block);
  }
  if (!kept) destroy(block);
  for (;;) {
    Block doomed;
    {
      const std::scoped_lock lock(mutex_);
      if (pooled_ <= limits_.pool_limit) return;
      doomed = pop_oldest();
    }
    destroy(doomed);
  }
}

/// Moves a block to the pool; where the host has no memory left to note that, it stays as it is.
bool BufferPool::keep(Block& block) noexcept {
  const std::uint64_t bytes = block.bytes;
  try {
    free_[bytes].push_back(std::move(block));
  } catch (const std::bad_alloc&) {
    if (const auto made = free_.find(bytes); made != free_.end() && made->second.empty()) {
      free_.erase(made);
    }
    return false;
  }
  pooled_ += bytes;
  return true;
}

Block BufferPool::pop_oldest() {
  const auto oldest = std::ranges::min_element(
      free_, {}, [](const auto& entry) { return entry.second.front().stamp; });
  Block block = std::move(oldest->second.front());
  oldest->second.pop_front();
  if (oldest->second.empty()) free_.erase(oldest);
  pooled_ -= block.bytes;
  return block;
}

void BufferPool::destroy(Block& block) noexcept {
  dropped_(block.id);
  // Frees the memory now, even where a bind group still refers to the buffer; the driver waits for
  // work that is under way.
  block.buffer.Destroy();
}

void BufferPool::trim() {
  std::map<std::uint64_t, std::deque<Block>> doomed;
  {
    const std::scoped_lock lock(mutex_);
    doomed.swap(free_);
    pooled_ = 0;
  }
  for (auto& [bytes, blocks] : doomed) {
    for (Block& block : blocks) destroy(block);
  }
}

void BufferPool::fail_next(std::uint32_t count) {
  const std::scoped_lock lock(mutex_);
  fail_next_ = count;
}

void BufferPool::fill_in(MemoryStats& stats) const {
  const std::scoped_lock lock(mutex_);
  stats.in_use = in_use_;
  stats.pooled = pooled_;
  stats.peak = peak_;
  stats.allocations = allocations_;
  stats.reuses = reuses_;
}

void BufferPool::fill_in(MemoryReport& report) const {
  const std::scoped_lock lock(mutex_);
  report.asked = asked_;
  report.limit = limit_ ? limit_->bytes : 0;
  std::map<std::uint64_t, MemoryClass> classes;
  for (const auto& [bytes, count] : used_) classes[bytes].used = count;
  for (const auto& [bytes, blocks] : free_) classes[bytes].kept = blocks.size();
  for (auto& [bytes, found] : classes) {
    found.bytes = bytes;
    if (found.used + found.kept > 0) report.classes.push_back(found);
  }
}

}  // namespace weft::gpu
