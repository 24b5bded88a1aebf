#pragma once

#include <span>
#include <string_view>

#include "node.hpp"
#include "ops/map/map.hpp"

namespace weft::plugin {

/// ggml repeats a smaller tensor as a whole (element i meets i % extent). Splits each dimension of
/// `full` views, which have the larger shape, where `small` is repeated in between, so that plain
/// broadcasting does the rest.
inline void split_repeats(std::span<ops::View* const> full, ops::View& small) {
  for (std::uint32_t i = small.rank; i-- > 0;) {
    const std::uint64_t extent = small.shape[i];
    const std::uint64_t whole = full.front()->shape[i];
    if (extent == whole || extent <= 1 || whole % extent != 0) continue;
    for (ops::View* view : full) *view = view->split(i, extent);
    small = small.unsqueeze(i);
    small.shape[i] = whole / extent;
    small.stride[i] = 0;
  }
}

/// The view without dimension `dim`, of which only the first element is there.
inline ops::View drop(ops::View view, std::uint32_t dim) {
  --view.rank;
  for (std::uint32_t i = dim; i < view.rank; ++i) {
    view.shape[i] = view.shape[i + 1];
    view.stride[i] = view.stride[i + 1];
  }
  return view;
}

/// The view without its first `count` dimensions.
inline ops::View drop_front(ops::View view, std::uint32_t count = 1) {
  for (std::uint32_t i = 0; i < count; ++i) view = drop(view, 0);
  return view;
}

/// The dense view of `view`'s elements with another shape of as many elements.
inline ops::View reshape_dense(const ops::View& view, std::span<const std::uint64_t> shape) {
  ops::View out = ops::View::dense(view.dtype, shape, view.slot);
  out.offset = view.offset;
  return out;
}

/// A quantized tensor as the 16-bit numbers (or bytes) that it is stored in, to move its blocks as
/// they are. Other tensors stay what they are.
inline ops::View as_stored(ops::View view) {
  if (!is_quantized(view.dtype)) return view;
  const std::uint64_t elements = block_elements(view.dtype);
  const bool even = block_bytes(view.dtype) % 2 == 0;
  const std::uint64_t units = even ? block_bytes(view.dtype) / 2 : block_bytes(view.dtype);
  const std::uint32_t inner = view.rank - 1;
  view.shape[inner] = view.shape[inner] / elements * units;
  for (std::uint32_t i = 0; i < inner; ++i) view.stride[i] = view.stride[i] / elements * units;
  view.dtype = even ? DType::i16 : DType::u8;
  return view;
}

/// dst = function(inputs…) with plain broadcasting.
inline Result<ops::Plan> map_to(std::string_view function, std::vector<ops::View> inputs,
                                const ops::View& dst, const Caps& caps,
                                const ops::map::Scalars& scalars = {}) {
  return ops::map::plan({function, std::move(inputs), dst, scalars}, caps);
}

}  // namespace weft::plugin
