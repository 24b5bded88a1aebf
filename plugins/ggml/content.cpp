#include "content.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace weft::plugin {
namespace {

bool meet(Range a, Range b) { return a.first < b.end && b.first < a.end; }

}  // namespace

void Content::erase_sources(Range range) {
  auto next = sources_.lower_bound(range.first);
  if (next != sources_.begin() && std::prev(next)->second.end > range.first) --next;
  // Whole ones: that part of a tensor is written over is rare, and a gap is an error, not a wrong
  // result.
  while (next != sources_.end() && next->first < range.end) next = sources_.erase(next);
}

void Content::written(Range range, std::optional<SourcePart> from) noexcept {
  const std::lock_guard lock(mutex_);
  erase_sources(range);
  try {
    if (from && range.first < range.end) sources_[range.first] = {range.end, std::move(*from)};
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
  for (std::size_t i = 0; i < gaps_.size();) {
    Range& gap = gaps_[i];
    if (!meet(gap, range)) {
      ++i;
    } else if (gap.first >= range.first && gap.end <= range.end) {
      gap = gaps_.back();
      gaps_.pop_back();
    } else if (gap.first >= range.first) {
      gap.first = range.end;
    } else if (gap.end <= range.end) {
      gap.end = range.first;
    } else {
      const Range behind{range.end, gap.end};
      try {
        gaps_.push_back(behind);
        gaps_[i].end = range.first;
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it stays one
      }
      ++i;
    }
  }
  note_plain();
}

void Content::lose(Range range) noexcept {
  const std::lock_guard lock(mutex_);
  erase_sources(range);
  try {
    if (range.first < range.end) gaps_.push_back(range);
  } catch (const std::bad_alloc&) {  // There is room for one.
    sources_.clear();
    gaps_.assign(1, {0, std::numeric_limits<std::uint64_t>::max()});
  }
  note_plain();
}

bool Content::lacks(Range range) const {
  if (is_plain()) return false;
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(gaps_, [&](const Range& gap) { return meet(gap, range); });
}

Status Content::restore(gpu::Device& device, const gpu::Buffer& buffer, bool transient,
                        const std::function<void(const Failure&)>& report) {
  constexpr std::uint64_t piece_bytes = 16 << 20;
  const std::lock_guard lock(mutex_);
  std::vector<Range> gaps;
  gaps.reserve(1);
  std::uint64_t known = 0;  // Up to here.
  std::vector<std::byte> piece;
  for (const auto& [first, source] : sources_) {
    if (known < first) gaps.push_back({known, first});
    known = source.end;
    for (std::uint64_t at = first; at < source.end; at += piece.size()) {
      piece.resize(std::min(piece_bytes, source.end - at));
      if (const Status read = source.part.source->read(source.part.offset + (at - first), piece);
          !read) {
        report(read.error());
        gaps.push_back({first, source.end});
        break;
      }
      const gpu::Slice slice{buffer, at, piece.size()};
      if (Status written = device.write(slice, piece); !written) return written;
    }
  }
  if (known < buffer.size()) gaps.push_back({known, buffer.size()});
  if (transient) gaps.clear();
  gaps_ = std::move(gaps);
  note_plain();
  return {};
}

}  // namespace weft::plugin
