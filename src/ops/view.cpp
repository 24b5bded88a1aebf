#include "ops/view.hpp"

#include <limits>
#include <utility>

#include "base/format.hpp"

namespace weft::ops {

View View::dense(DType dtype, std::span<const std::uint64_t> shape, Slot slot) {
  View view{.dtype = dtype, .slot = slot, .rank = static_cast<std::uint32_t>(shape.size())};
  std::uint64_t stride = 1;
  for (std::uint32_t i = view.rank; i-- > 0;) {
    view.shape[i] = shape[i];
    view.stride[i] = stride;
    stride *= shape[i];
  }
  return view;
}

std::uint64_t View::count() const {
  std::uint64_t n = 1;
  for (std::uint32_t i = 0; i < rank; ++i) n *= shape[i];
  return n;
}

ByteRange View::bytes() const {
  if (empty()) return {offset, offset};
  std::uint64_t last = 0;
  for (std::uint32_t i = 0; i < rank; ++i) last += (shape[i] - 1) * stride[i];
  return {offset, offset + (last / block_elements(dtype) + 1) * block_bytes(dtype)};
}

bool View::is_dense() const {
  std::uint64_t expected = 1;
  for (std::uint32_t i = rank; i-- > 0;) {
    if (shape[i] != 1 && stride[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

View View::permute(std::span<const std::uint32_t> order) const {
  View out = *this;
  for (std::uint32_t i = 0; i < rank; ++i) {
    out.shape[i] = shape[order[i]];
    out.stride[i] = stride[order[i]];
  }
  return out;
}

View View::transpose(std::uint32_t a, std::uint32_t b) const {
  View out = *this;
  std::swap(out.shape[a], out.shape[b]);
  std::swap(out.stride[a], out.stride[b]);
  return out;
}

View View::slice(std::uint32_t dim, std::uint64_t first, std::uint64_t count,
                 std::uint64_t step) const {
  View out = *this;
  out.shape[dim] = count;
  out.stride[dim] = stride[dim] * step;
  if (count > 0) out.offset += first * stride[dim] / block_elements(dtype) * block_bytes(dtype);
  return out;
}

View View::unsqueeze(std::uint32_t dim) const {
  View out = *this;
  for (std::uint32_t i = rank; i > dim; --i) {
    out.shape[i] = shape[i - 1];
    out.stride[i] = stride[i - 1];
  }
  out.shape[dim] = 1;
  out.stride[dim] = 0;
  out.rank = rank + 1;
  return out;
}

View View::split(std::uint32_t dim, std::uint64_t inner) const {
  View out = unsqueeze(dim);
  out.shape[dim] = inner == 0 ? 0 : shape[dim] / inner;
  out.stride[dim] = stride[dim] * inner;
  out.shape[dim + 1] = inner;
  return out;
}

Result<View> View::broadcast_to(std::span<const std::uint64_t> target) const {
  if (target.size() < rank || target.size() > max_rank) {
    return fail(ErrorCode::invalid_argument,
                "A tensor of shape {} cannot be broadcast to shape {}.", describe(extents()),
                describe(target));
  }
  View out = *this;
  out.rank = static_cast<std::uint32_t>(target.size());
  const std::uint32_t missing = out.rank - rank;
  for (std::uint32_t i = 0; i < out.rank; ++i) {
    out.shape[i] = target[i];
    if (i < missing) {
      out.stride[i] = 0;
      continue;
    }
    const std::uint64_t extent = shape[i - missing];
    if (extent != target[i] && extent != 1) {
      return fail(
          ErrorCode::invalid_argument,
          "A tensor of shape {} cannot be broadcast to shape {}: dimension {} has {} elements.",
          describe(extents()), describe(target), i - missing, extent);
    }
    out.stride[i] = extent == 1 && target[i] != 1 ? 0 : stride[i - missing];
  }
  return out;
}

std::string describe(std::span<const std::uint64_t> extents) {
  std::string text = "[";
  for (std::size_t i = 0; i < extents.size(); ++i) {
    text += formatted("{}{}", i == 0 ? "" : ",", extents[i]);
  }
  return text + "]";
}

std::string describe(const View& view) {
  std::string text = formatted("{}{}", name(view.dtype), describe(view.extents()));
  if (!view.is_dense()) {
    text += formatted(" strides {}", describe(std::span(view.stride.data(), view.rank)));
  }
  if (view.offset != 0) text += formatted(" offset {}", view.offset);
  return text;
}

namespace {

/// Blocks lie whole and side by side along the last dimension.
Status validate_blocks(const View& view, std::string_view what) {
  const std::uint64_t block = block_elements(view.dtype);
  if (view.rank == 0 || view.shape[view.rank - 1] % block != 0) {
    return fail(ErrorCode::invalid_argument,
                "Tensor `{}` ({}) needs a last dimension that is a multiple of the {} elements of "
                "a block.",
                what, describe(view), block);
  }
  const std::uint32_t inner = view.rank - 1;
  bool whole = view.stride[inner] == 1 || view.shape[inner] == 0;
  for (std::uint32_t i = 0; i < inner; ++i) whole = whole && view.stride[i] % block == 0;
  // Blocks with a 16-bit scale lie at even bytes; those of mxfp4 anywhere.
  if (!whole || (block_bytes(view.dtype) % 2 == 0 && view.offset % 2 != 0)) {
    return fail(ErrorCode::invalid_argument,
                "Tensor `{}` ({}) cuts blocks of {} elements apart: rows must be contiguous, other "
                "strides multiples of the block and the offset aligned to it.",
                what, describe(view), block);
  }
  return {};
}

}  // namespace

Status check_distinct(const View& output, std::string_view what) {
  for (std::uint32_t i = 0; i < output.rank && !output.empty(); ++i) {
    if (output.stride[i] == 0 && output.shape[i] > 1) {
      return fail(ErrorCode::invalid_argument,
                  "The output `{}` ({}) repeats elements along dimension {}; every element of an "
                  "output needs a place of its own.",
                  what, describe(output), i);
    }
  }
  return {};
}

Status validate(const View& view, std::string_view what, Types types) {
  if (is_quantized(view.dtype) && types == Types::plain) {
    return fail(ErrorCode::unsupported,
                "Tensor `{}` is of the quantized type {}, which this operation does not take.",
                what, name(view.dtype));
  }
  if (view.rank > max_rank) {
    return fail(ErrorCode::invalid_argument,
                "Tensor `{}` has {} dimensions; at most {} are supported.", what, view.rank,
                max_rank);
  }
  if (view.offset % size_of(view.dtype) != 0) {
    return fail(ErrorCode::invalid_argument,
                "Tensor `{}` starts at byte {}, which is not a multiple of its {}-byte elements.",
                what, view.offset, size_of(view.dtype));
  }
  // 2^60 bytes is far past any buffer; staying below it keeps all later arithmetic free of
  // overflow.
  constexpr std::uint64_t limit = 1ULL << 56;
  std::uint64_t count = 1;
  std::uint64_t span = 1;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    const std::uint64_t extent = view.shape[i] == 0 ? 1 : view.shape[i];
    const bool too_large = extent > limit / count ||
                           (view.stride[i] != 0 && extent > limit / view.stride[i]) ||
                           (span += (extent - 1) * view.stride[i]) > limit;
    if (too_large) {
      return fail(ErrorCode::invalid_argument,
                  "Tensor `{}` with shape {} and strides {} is too large.", what,
                  describe(view.extents()), describe(std::span(view.stride.data(), view.rank)));
    }
    count *= extent;
  }
  if (is_quantized(view.dtype)) return validate_blocks(view, what);
  return {};
}

}  // namespace weft::ops
