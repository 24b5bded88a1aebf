#pragma once

#include <cstdint>

#include "weft/csr.hpp"

namespace weft {

/// A sparse matrix of square blocks in compressed rows of blocks, as plain tensors. Sizes of the
/// matrix are multiples of that of a block; 16 and 32 suit matrix units.
struct Bsr {
  Tensor values;   ///< [count, block, block] of f32, f16 or bf16.
  Tensor starts;   ///< i32 [rows / block + 1]: where the blocks of each row of blocks begin.
  Tensor indices;  ///< i32 [count]: the columns of blocks, ascending in each row.
};

/// The blocks of a matrix [rows, columns] that are not all 0. Waits, since their number decides
/// over the shape of the result.
Bsr bsr_from_dense(In x, std::uint64_t block);
/// From compressed rows: the blocks that have an element. Waits. Elements at one place are added
/// up.
Bsr bsr_from_csr(In values, const Tensor& starts, const Tensor& indices, std::uint64_t block);
/// The matrix [rows, columns] with zeros elsewhere; blocks at one place are added up.
Tensor bsr_to_dense(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns);
/// All elements of the blocks, zeros included, in compressed rows.
Csr bsr_to_csr(In values, const Tensor& starts, const Tensor& indices);
/// Rows and columns exchanged: the matrix of so many columns becomes one of so many rows.
Bsr bsr_transpose(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns);
/// The product with x [columns], or [columns, n]: [rows], or [rows, n], in the type of x. Blocks
/// are multiplied in one batch and added in f32, in their order.
Tensor bsr_matmul(In values, const Tensor& starts, const Tensor& indices, const Tensor& x);
/// The blocks of x · of_columnsᵀ (x [rows, n], of_columns [columns, n]) at the places of a sparse
/// matrix: [count, block, block].
Tensor bsr_sampled_matmul(In starts, const Tensor& indices, const Tensor& x,
                          const Tensor& of_columns, std::uint64_t block);

}  // namespace weft
