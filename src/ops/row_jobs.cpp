#include "ops/row_jobs.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/math.hpp"
#include "ops/iterate.hpp"

namespace weft::ops {
namespace {

View first_part(const View& view, std::uint64_t length) {
  return view.slice(view.rank - 1, 0, length);
}

/// About half of `extent` (at least 2), rounded so that both sides stay aligned where possible.
/// Rounding up never leaves a third piece behind.
std::uint64_t upper_half(std::uint64_t extent) {
  const std::uint64_t half = extent / 2;
  return half >= 4096 ? round_up<std::uint64_t>(half, 4096) : std::bit_floor(half);
}

std::uint32_t widest_dim(const View& view) {
  std::uint32_t dim = 0;
  std::uint64_t widest = 0;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    const std::uint64_t spread = (view.shape[i] - 1) * std::max<std::uint64_t>(view.stride[i], 1);
    if (spread > widest) {
      widest = spread;
      dim = i;
    }
  }
  return dim;
}

}  // namespace

std::uint64_t row_length(const View& view) { return view.shape[view.rank - 1]; }

std::uint64_t row_count(const View& view) {
  return row_length(view) == 0 ? 0 : view.count() / row_length(view);
}

void collapse_outer(std::vector<View>& views) {
  std::vector<View> outer = views;
  for (View& view : outer) {
    view.rank -= 1;
  }
  collapse(outer);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::uint64_t length = row_length(views[i]);
    const std::uint64_t stride = views[i].stride[views[i].rank - 1];
    views[i] = outer[i];
    views[i].shape[views[i].rank] = length;
    views[i].stride[views[i].rank] = stride;
    views[i].rank += 1;
  }
}

Status for_each_row_job(std::vector<View> views, std::uint32_t state_words, const Caps& caps,
                        const std::function<Status(const RowJob&)>& emit) {
  const std::uint64_t budget = binding_budget(caps);
  const std::uint32_t row_dim = views.front().rank - 1;
  const std::uint64_t length = row_length(views.front());
  const std::uint64_t rows = row_count(views.front());
  std::uint64_t segment = length;
  for (;;) {
    std::uint64_t largest = budget;
    std::uint32_t dim = row_dim;
    View offender;
    for (const View& view : views) {
      const View part = first_part(view, segment);
      if (part.bytes().size() <= largest) continue;
      largest = part.bytes().size();
      dim = widest_dim(part);
      offender = part;
    }
    const std::uint64_t splits =
        ceil_div(length, segment) * ceil_div<std::uint64_t>(segment, smallest_row_block);
    if (largest == budget && splits > 1 && rows * splits * state_words * 4 > budget) {
      dim = widest_dim(views.front().slice(row_dim, 0, 1));
      offender = views.front();
      largest = rows * splits * state_words * 4;
    }
    if (largest == budget) return emit({std::move(views), segment});
    if (offender.shape[dim] < 2) {
      return fail(ErrorCode::unsupported,
                  "One element of {} needs more than the {} bytes that this device binds.",
                  describe(offender), caps.max_binding);
    }
    if (dim == row_dim) {
      segment = upper_half(segment);
      continue;
    }
    const std::uint64_t half = upper_half(views.front().shape[dim]);
    std::vector<View> front;
    std::vector<View> back;
    for (const View& view : views) {
      front.push_back(view.slice(dim, 0, half));
      back.push_back(view.slice(dim, half, view.shape[dim] - half));
    }
    return for_each_row_job(std::move(front), state_words, caps, emit).and_then([&] {
      return for_each_row_job(std::move(back), state_words, caps, emit);
    });
  }
}

}  // namespace weft::ops
