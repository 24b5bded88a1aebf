#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "device/caps.hpp"
#include "ops/gemm/problem.hpp"

namespace weft::ops::gemm {

/// Checks the arguments and brings them into the form of Problem: batches broadcast and merged, a
/// batch of products with one b folded into rows. More than one problem where batches do not merge
/// into three dimensions, none where c is empty.
Result<std::vector<Problem>> normalize(const Args& args);

/// What to cut a problem along so that it fits the device: nothing, a dimension of c, or K.
struct Cut {
  enum class What : std::uint8_t { nothing, dimension, k };
  What what = What::nothing;
  std::uint32_t dim = 0;
};
Result<Cut> next_cut(const Problem& problem, const Caps& caps);

/// Elements [first, first + count) of dimension `dim` of c, with the parts of a, b and bias that
/// belong to them.
Problem sliced(const Problem& problem, std::uint32_t dim, std::uint64_t first, std::uint64_t count);

/// The bare product: alpha 1, beta 0, no bias, no activation.
Problem plain(const Problem& problem);

}  // namespace weft::ops::gemm
