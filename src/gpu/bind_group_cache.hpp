#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpu/native.hpp"

namespace weft::gpu {

struct KernelState;

/// One buffer range of a bind group; it borrows the buffer, because counting references for every
/// binding of every dispatch costs more than the rest of a cache hit.
struct BindRange {
  const wgpu::Buffer* buffer = nullptr;
  std::uint64_t id = 0;  ///< The block's id: the same for all handles that use the block in turn.
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Where a kernel's parameters lie; `buffer` is null for a kernel without any.
struct ParamsRange {
  const wgpu::Buffer* buffer = nullptr;
  std::uint64_t id = 0;
  std::uint64_t offset = 0;  ///< Not looked at where the layout has dynamic offsets.
};

/// Makes a bind group for a kernel.
wgpu::BindGroup make_bind_group(const wgpu::Device& device, const KernelState& kernel,
                                std::span<const BindRange> ranges, const ParamsRange& params);

/// Bind groups by layout and ranges, at most `capacity` of them; the one not used for longest goes.
class BindGroupCache {
 public:
  BindGroupCache(wgpu::Device device, std::size_t capacity);

  wgpu::BindGroup get(const KernelState& kernel, std::span<const BindRange> ranges,
                      const ParamsRange& params);
  /// Forgets every group that has this block in it.
  void drop(std::uint64_t block_id);
  std::uint64_t made() const;

 private:
  using Key = std::vector<std::uint64_t>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::span<const std::uint64_t> key) const noexcept;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::span<const std::uint64_t> a,
                    std::span<const std::uint64_t> b) const noexcept;
  };
  struct Entry {
    Key key;
    wgpu::BindGroup group;
  };

  const wgpu::Device device_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< The most recently used first.
  std::unordered_map<Key, std::list<Entry>::iterator, Hash, Equal> index_;
  std::uint64_t made_ = 0;
};

}  // namespace weft::gpu
