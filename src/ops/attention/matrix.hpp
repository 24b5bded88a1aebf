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

/// Whether the lanes of subgroups divide rows as kernels can: one, two or four of them have a row. WN subgroups share TM rows of
/// matrices.
constexpr bool lanes_fit(const MatrixConfig& shape, std::uint32_t wn, std::uint32_t tm,
                         std::uint32_t subgroup) {
  const std::uint32_t rows = tm * shape.m;
  const std::uint32_t lanes = wn * subgroup;
  return lanes == rows || lanes == 2 * rows || lanes == 4 * rows;
}

}  // namespace weft::ops::attention
