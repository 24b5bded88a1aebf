#pragma once

#include <cstdint>

#include "weft/tensor.hpp"

namespace weft {

/// The places of a sparse matrix, each once.
struct Pairs {
  Tensor numbers;  ///< i32, of each element: the number of its place.
  Tensor rows;     ///< i32 [count].
  Tensor columns;  ///< i32 [count].
  std::uint64_t count = 0;
};

/// The places of elements whose rows, and columns in each row, ascend; there is at least one
/// element. Waits for their number.
Pairs distinct_pairs(const Tensor& rows, const Tensor& columns, const Where& at);

}  // namespace weft
