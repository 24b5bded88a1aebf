#include "ops/iterate.hpp"

#include <algorithm>
#include <utility>

#include "base/math.hpp"

namespace weft::ops {
namespace {

void remove_dim(View& view, std::uint32_t dim) {
  for (std::uint32_t i = dim; i + 1 < view.rank; ++i) {
    view.shape[i] = view.shape[i + 1];
    view.stride[i] = view.stride[i + 1];
  }
  --view.rank;
}

void swap_dims(std::span<View> views, std::uint32_t a, std::uint32_t b) {
  for (View& view : views) view = view.transpose(a, b);
}

}  // namespace

void collapse(std::span<View> views) {
  View& lead = views.front();
  for (std::uint32_t i = lead.rank; i-- > 0;) {
    if (lead.shape[i] != 1) continue;
    for (View& view : views) remove_dim(view, i);
  }
  if (lead.rank == 0) {
    for (View& view : views) {
      view.rank = 1;
      view.shape[0] = 1;
      view.stride[0] = 1;
    }
    return;
  }
  // Insertion sort keeps the given order where strides are equal, as they are for broadcast
  // dimensions.
  for (std::uint32_t i = 1; i < lead.rank; ++i) {
    for (std::uint32_t j = i; j > 0 && lead.stride[j - 1] < lead.stride[j]; --j) {
      swap_dims(views, j - 1, j);
    }
  }
  for (std::uint32_t i = lead.rank - 1; i > 0; --i) {
    const bool even = std::ranges::all_of(views, [&](const View& view) {
      return view.stride[i - 1] == view.stride[i] * view.shape[i];
    });
    if (!even) continue;
    for (View& view : views) {
      view.shape[i - 1] *= view.shape[i];
      view.stride[i - 1] = view.stride[i];
      remove_dim(view, i);
    }
  }
}

std::uint64_t half_of(std::uint64_t extent) {
  const std::uint64_t half = extent / 2;
  for (std::uint64_t step = 4096; step > 1; step /= 2) {
    if (half >= step) return round_down(half, step);
  }
  return half;
}

Status for_each_piece(std::vector<View> views, const Caps& caps,
                      const std::function<Status(std::span<const View>)>& emit) {
  constexpr std::uint64_t max_count = 1ULL << 31;
  if (views.front().empty()) return {};
  const std::uint64_t budget = binding_budget(caps);
  const View* offender = nullptr;
  for (const View& view : views) {
    const std::uint64_t size = view.bytes().size();
    if (size > budget && (offender == nullptr || size > offender->bytes().size())) offender = &view;
    // Drivers do not survive a hundred thousand launches at once, and nobody would wait for them.
    constexpr std::uint64_t most_pieces = 1ULL << 14;
    if (size / budget > most_pieces) {
      return fail(ErrorCode::unsupported,
                  "{} would take {} launches, because this device binds {} bytes at once.",
                  describe(view), size / budget, caps.max_binding);
    }
  }
  if (offender == nullptr) {
    if (views.front().count() < max_count) return emit(views);
    offender = &views.front();
  }
  std::uint32_t dim = 0;
  std::uint64_t widest = 0;
  for (std::uint32_t i = 0; i < offender->rank; ++i) {
    const std::uint64_t spread =
        (offender->shape[i] - 1) * std::max<std::uint64_t>(offender->stride[i], 1);
    if (spread > widest) {
      widest = spread;
      dim = i;
    }
  }
  if (widest == 0) {
    return fail(ErrorCode::unsupported,
                "One element of {} needs more than the {} bytes that this device binds.",
                describe(*offender), caps.max_binding);
  }
  const std::uint64_t half = half_of(offender->shape[dim]);
  std::vector<View> front;
  std::vector<View> back;
  for (const View& view : views) {
    front.push_back(view.slice(dim, 0, half));
    back.push_back(view.slice(dim, half, view.shape[dim] - half));
  }
  return for_each_piece(std::move(front), caps, emit).and_then([&] {
    return for_each_piece(std::move(back), caps, emit);
  });
}

}  // namespace weft::ops
