#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "file_source.hpp"
#include "gpu/gpu.hpp"

namespace weft::plugin {

/// Bytes from `first` up to `end`.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

/// What is known about the bytes of a buffer: which of them a file or a copy has, to get them back
/// after the device was lost, and which are gone. A graph that reads what is gone would compute
/// nonsense. Thread-safe.
class Content {
 public:
  Content() { gaps_.reserve(1); }
  /// The host or the device wrote these bytes; a file or a copy may have them too. Where the host
  /// has no memory left to note that, they count as gone or as bytes of no file.
  void written(Range range, std::optional<SourcePart> from = std::nullopt) noexcept;
  /// These bytes are not what they should be; without memory to note which, all bytes are.
  void lose(Range range) noexcept;
  /// Whether some of these bytes are gone.
  [[nodiscard]] bool lacks(Range range) const;
  /// Whether nothing has to be known when the device writes: there are neither sources nor gaps.
  [[nodiscard]] bool is_plain() const { return plain_.load(std::memory_order_acquire); }
  /// Fills a new buffer in place of one that was lost; what nothing has is gone, unless every graph
  /// writes it anew
  /// (`transient`). Fails where the device does; a file that cannot be read is told to `report`.
  Status restore(gpu::Device& device, const gpu::Buffer& buffer, bool transient,
                 const std::function<void(const Failure&)>& report);

 private:
  struct Source {
    std::uint64_t end = 0;
    SourcePart part;
  };
  void erase_sources(Range range);
  void add_gap(Range range);
  void note_plain() { plain_.store(sources_.empty() && gaps_.empty(), std::memory_order_release); }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Source> sources_;  ///< By their first byte; apart from each other.
  std::vector<Range> gaps_;
  std::atomic<bool> plain_ = true;
};

}  // namespace weft::plugin
