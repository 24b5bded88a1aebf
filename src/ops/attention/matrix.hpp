#pragma once

#include <optional>

#include "ops/attention/problem.hpp"
#include "ops/matrices.hpp"

namespace weft::ops::attention {

/// The subgroup matrices that kernels multiply, if the device has any that suit them: into f32, and
/// their rows have lanes of their own.
std::optional<Matrices> matrices_for(const Caps& caps);

/// Those whose rows pass between the lanes of a subgroup in workgroup memory without a barrier,
/// which WGSL does not promise to work: subgroups that are always 32, with matrices of 16 x 16, are
/// NVIDIA's, where it was tested, and those of 8 are vectors of one thread on the software device.
std::optional<Matrices> slim_matrices_for(const Caps& caps);

/// In how many parts keys are split, where a kernel wants so many and Traits::attention_tile may
/// want others.
std::uint64_t tuned_splits(std::uint64_t wanted, const Caps& caps);

/// A head size rounded up to whole matrices.
constexpr std::uint64_t matrix_size(std::uint64_t size) {
  return round_up<std::uint64_t>(size, 16);
}

/// Whether the lanes of subgroups divide rows as kernels can: one, two or four of them have a row.
/// WN subgroups share TM rows of matrices.
constexpr bool lanes_fit(const Matrices& matrices, std::uint32_t wn, std::uint32_t tm) {
  const std::uint32_t rows = tm * matrices.shape.m;
  const std::uint32_t lanes = wn * matrices.subgroup;
  return lanes == rows || lanes == 2 * rows || lanes == 4 * rows;
}

}  // namespace weft::ops::attention
