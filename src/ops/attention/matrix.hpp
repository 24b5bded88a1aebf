#pragma once

#include <optional>

#include "ops/attention/problem.hpp"

namespace weft::ops::attention {

/// The square subgroup matrices that kernels multiply, f16 into f32, if the device has any that suit them.
std::optional<MatrixConfig> matrix_shape(const Caps& caps);

/// A head size rounded up to whole matrices.
constexpr std::uint64_t matrix_size(std::uint64_t size) {
  return round_up<std::uint64_t>(size, 16);
}

}  // namespace weft::ops::attention
