#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ops/slot.hpp"

namespace weft::ops {

/// The most dimensions a tensor can have.
inline constexpr std::uint32_t max_rank = 8;

/// Extents or strides, outermost dimension first.
using Extents = std::array<std::uint64_t, max_rank>;

/// First and one-past-last byte that a view touches in its buffer.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// A tensor as ops see it: type, shape, strides in elements (0 repeats, never negative) and where
/// it starts in which buffer (none for a tensor that was not given). In a tensor of a quantized
/// type rows (the last dimension) are contiguous and other strides are whole blocks.
struct View {
  DType dtype = DType::f32;
  Slot slot{};
  std::uint32_t rank = 0;
  Extents shape{};
  Extents stride{};
  /// Bytes from the start of the buffer; a multiple of the element size, or of 2 (mxfp4: 1) for
  /// quantized types.
  std::uint64_t offset = 0;

  /// A dense row-major view.
  static View dense(DType dtype, std::span<const std::uint64_t> shape, Slot slot = {});
  static View dense(DType dtype, std::initializer_list<std::uint64_t> shape, Slot slot = {}) {
    return dense(dtype, std::span(shape.begin(), shape.size()), slot);
  }

  [[nodiscard]] bool given() const { return slot.given(); }
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] bool empty() const { return count() == 0; }
  [[nodiscard]] ByteRange bytes() const;
  [[nodiscard]] bool is_dense() const;
  [[nodiscard]] std::span<const std::uint64_t> extents() const { return {shape.data(), rank}; }

  /// The view with dimensions in another order: result dimension i is dimension `order[i]` of this
  /// one.
  [[nodiscard]] View permute(std::span<const std::uint32_t> order) const;
  [[nodiscard]] View transpose(std::uint32_t a, std::uint32_t b) const;
  /// Elements first, first+step, … (count of them) of one dimension; whole blocks along rows of a
  /// quantized type.
  [[nodiscard]] View slice(std::uint32_t dim, std::uint64_t first, std::uint64_t count,
                           std::uint64_t step = 1) const;
  /// The view with an extent-1 dimension put before `dim`.
  [[nodiscard]] View unsqueeze(std::uint32_t dim) const;
  /// The view with one dimension split into two whose extents multiply to it.
  [[nodiscard]] View split(std::uint32_t dim, std::uint64_t inner) const;
  /// The view repeated (stride 0) to a larger shape; missing leading dimensions and extents of 1
  /// broadcast.
  [[nodiscard]] Result<View> broadcast_to(std::span<const std::uint64_t> target) const;
};

/// "f16[3,4,5]" or, when not dense, "f16[3,4,5] strides [40,1,4] offset 8": for messages.
std::string describe(const View& view);

/// "[3,4,5]".
std::string describe(std::span<const std::uint64_t> extents);

/// Which types an operation takes for a tensor; quantized types are the exception.
enum class Types : std::uint8_t { plain, quantized_too };

/// Checks rank, type, element alignment of the offset and arithmetic overflow; every plan() calls
/// it for every view.
Status validate(const View& view, std::string_view name, Types types = Types::plain);

/// An error if elements of an output share a place, because a stride is 0.
Status check_distinct(const View& output, std::string_view name);

}  // namespace weft::ops
