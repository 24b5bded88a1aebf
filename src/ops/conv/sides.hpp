#pragma once

#include <array>
#include <cstdint>

#include "ops/conv/direct.hpp"
#include "ops/stages.hpp"

namespace weft::ops::conv {

/// A convolution of x to y in two dimensions as all modes see it; a transposed one goes from `out`
/// to the image.
struct Sides {
  View x;
  View y;
  View w;  ///< [channels of y, rows, columns, channels of x].
  bool flip = false;
  std::array<std::int64_t, 2> pad{};
  std::array<std::uint64_t, 2> stride{1, 1};
  std::array<std::uint64_t, 2> padded{};  ///< Extents of x that windows reach.

  [[nodiscard]] std::uint64_t taps() const { return w.shape[1] * w.shape[2]; }
  [[nodiscard]] std::uint64_t channels() const { return w.shape[3]; }
  [[nodiscard]] std::uint64_t pixels() const { return y.shape[2] * y.shape[3]; }
  [[nodiscard]] std::uint64_t padded_count() const {
    return x.shape[0] * padded[0] * padded[1] * channels();
  }
};

/// Whether there are such sides.
bool has_sides(const Problem& problem, Mode mode);
Sides sides_of(const Problem& problem, Mode mode);

/// Brings x to what products read, [n, row, column, channel] of f16 with its border of zeros, and w
/// where it is not in order already; `w` becomes what they read.
Result<Dispatch> pad_launch(Stages& stages, const Sides& sides, const View& padded, View& w,
                            const Caps& caps);

}  // namespace weft::ops::conv
