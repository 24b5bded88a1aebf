#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/cumsum/cumsum.hpp"

namespace weft::ops::cumsum {

/// One scan in normal form.
struct Job {
  std::array<View, 2> kept;  // the other dimensions, in x and in y
  std::uint64_t count = 0;
  std::uint64_t scan_x = 0;
  std::uint64_t scan_y = 0;
  DType domain = DType::f32;
  Function function = Function::sum;
  bool exclusive = false;
  bool reverse = false;

  /// Elements [first, last) of every sequence, in x or y.
  [[nodiscard]] View part(std::size_t k, std::uint64_t first, std::uint64_t last) const {
    View view = kept[k];
    view.rank = 0;
    for (std::uint32_t i = 0; i < kept[k].rank; ++i) {
      if (kept[k].shape[i] == 1) continue;
      view.shape[view.rank] = kept[k].shape[i];
      view.stride[view.rank++] = kept[k].stride[i];
    }
    const std::uint64_t step = k == 0 ? scan_x : scan_y;
    view.offset += first * step * size_of(view.dtype);
    view.shape[view.rank] = last - first;
    view.stride[view.rank++] = step;
    return view;
  }
};

/// How the work of a job is cut.
struct Shape {
  bool by_rows = true;
  std::uint32_t chunk = 1;
  std::uint32_t lanes = 256;
  std::uint32_t size = 256;    // of a workgroup, by rows
  std::uint64_t span = 0;      // chunks (columns: elements) per segment
  std::uint64_t segments = 1;  // per sequence
};

/// All elements of `view` lie at multiples of `bytes`, as far as dimensions other than `except`
/// decide.
bool aligned(const View& view, std::uint64_t bytes, std::int64_t except);

/// Chooses the kernel of a job, and cuts it for this device; no more than `budget` bytes can be
/// bound at once.
Result<Shape> choose_shape(const Job& job, std::uint64_t budget, const Caps& caps);

}  // namespace weft::ops::cumsum
