#include "gpu/bind_group_cache.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.hpp"
#include "base/math.hpp"
#include "gpu/pipeline_cache.hpp"

namespace weft::gpu {
namespace {

// A key is: layout id, parameter buffer id and offset, then (block id, offset, size) for every
// binding.
constexpr std::size_t head_words = 3;
constexpr std::size_t words_per_binding = 3;

/// The offset of the parameters that a bind group has.
std::uint64_t fixed_offset(const KernelState& kernel, const ParamsRange& params) {
  return kernel.layout->dynamic_params ? 0 : params.offset;
}

}  // namespace

wgpu::BindGroup make_bind_group(const wgpu::Device& device, const KernelState& kernel,
                                std::span<const BindRange> ranges, const ParamsRange& params) {
  std::vector<wgpu::BindGroupEntry> entries(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    entries[i].binding = static_cast<std::uint32_t>(i);
    entries[i].buffer = *ranges[i].buffer;
    entries[i].offset = ranges[i].offset;
    entries[i].size = ranges[i].size;
  }
  if (params.buffer != nullptr) {
    wgpu::BindGroupEntry& entry = entries.emplace_back();
    entry.binding = static_cast<std::uint32_t>(ranges.size());
    entry.buffer = *params.buffer;
    entry.offset = fixed_offset(kernel, params);
    entry.size = kernel.layout->params_size;
  }
  wgpu::BindGroupDescriptor descriptor;
  descriptor.layout = kernel.layout->group;
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  return device.CreateBindGroup(&descriptor);
}

std::size_t BindGroupCache::Hash::operator()(std::span<const std::uint64_t> key) const noexcept {
  return static_cast<std::size_t>(hash_bytes(std::as_bytes(key)));
}

bool BindGroupCache::Equal::operator()(std::span<const std::uint64_t> a,
                                       std::span<const std::uint64_t> b) const noexcept {
  return std::ranges::equal(a, b);
}

BindGroupCache::BindGroupCache(wgpu::Device device, std::size_t capacity)
    : device_(std::move(device)), capacity_(capacity) {}

wgpu::BindGroup BindGroupCache::get(const KernelState& kernel, std::span<const BindRange> ranges,
                                    const ParamsRange& params) {
  std::array<std::uint64_t, 128> stack;
  std::vector<std::uint64_t> heap;
  const std::size_t words = head_words + words_per_binding * ranges.size();
  std::span<std::uint64_t> key(stack);
  if (words > stack.size()) {
    heap.resize(words);
    key = heap;
  }
  key = key.first(words);
  key[0] = kernel.layout->id;
  key[1] = params.id;
  key[2] = fixed_offset(kernel, params);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    key[head_words + words_per_binding * i] = ranges[i].id;
    key[head_words + words_per_binding * i + 1] = ranges[i].offset;
    key[head_words + words_per_binding * i + 2] = ranges[i].size;
  }

  const std::scoped_lock lock(mutex_);
  const std::span<const std::uint64_t> view = key;
  if (const auto found = index_.find(view); found != index_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->group;
  }
  wgpu::BindGroup group = make_bind_group(device_, kernel, ranges, params);
  ++made_;
  entries_.push_front(Entry{Key(key.begin(), key.end()), group});
  index_.emplace(entries_.front().key, entries_.begin());
  if (entries_.size() > capacity_) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return group;
}

void BindGroupCache::drop(std::uint64_t block_id) {
  const std::scoped_lock lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    bool uses = false;
    for (std::size_t i = head_words; i < entry->key.size(); i += words_per_binding) {
      uses = uses || entry->key[i] == block_id;
    }
    if (uses) {
      index_.erase(entry->key);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

std::uint64_t BindGroupCache::made() const {
  const std::scoped_lock lock(mutex_);
  return made_;
}

}  // namespace weft::gpu
