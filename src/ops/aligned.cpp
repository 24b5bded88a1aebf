#include "ops/aligned.hpp"

#include <algorithm>

namespace weft::ops {

bool rows_aligned(const View& view, std::uint32_t width) {
  const std::uint32_t last = view.rank - 1;
  bool aligned = view.offset / size_of(view.dtype) % width == 0 && view.stride[last] == 1 &&
                 view.shape[last] % width == 0;
  for (std::uint32_t i = 0; i < last; ++i) {
    aligned = aligned && (view.shape[i] == 1 || view.stride[i] % width == 0);
  }
  return aligned;
}

Operand operand_of(std::string_view name, const View& view, Access access, std::uint32_t width) {
  std::uint32_t unit = 1;
  if (width > 1 && access != Access::atomic && rows_aligned(view, width)) {
    unit = std::min(4U, width * size_of(view.dtype) / 4);
  }
  return {.name = name, .view = view, .access = access, .unit = unit};
}

}  // namespace weft::ops
