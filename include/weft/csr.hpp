#pragma once

#include <cstdint>

#include "weft/ops.hpp"

namespace weft {

/// A sparse matrix in compressed rows, as plain tensors: what is computed from `values` belongs to
/// the same places. Functions of sparse matrices take them apart, so that values can be variables,
/// and gradients flow to them.
struct Csr {
  Tensor values;  ///< [count] of f32, f16 or bf16.
  Tensor
      starts;  ///< i32 [rows + 1]: where the elements of each row begin; the last is their number.
  Tensor indices;  ///< i32 [count]: the columns of the elements, ascending in each row.
};

/// The elements of a matrix [rows, columns] that are not 0. Waits, since their number decides over
/// the shape of the result.
Csr csr_from_dense(In x);
/// From elements and their rows and columns (i32 [count]), in any order. What is twice at one place
/// stays there twice.
Csr csr_from_coo(In values, const Tensor& rows, const Tensor& columns, std::uint64_t row_count);
/// Elements at one place become their sum. Waits, since their number decides over the shape of the
/// result.
Csr csr_coalesce(In values, const Tensor& starts, const Tensor& indices);
/// The matrix [rows, columns] with zeros elsewhere; elements at one place are added up.
Tensor csr_to_dense(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns);
/// Rows and columns exchanged: the matrix of so many columns becomes one of so many rows. What it
/// gives are the compressed columns (CSC) of the matrix itself, and of those it gives back the
/// compressed rows.
Csr csr_transpose(In values, const Tensor& starts, const Tensor& indices, std::uint64_t columns);
/// The row of each element: i32 [count].
Tensor csr_rows(In starts, std::uint64_t count);

/// The product of a sparse matrix with x [columns], or [columns, n]: [rows], or [rows, n], in the
/// type of x. Sums are f32, in an order that is the same in every run.
Tensor csr_matmul(In values, const Tensor& starts, const Tensor& indices, const Tensor& x);
/// The elements of x · of_columnsᵀ (x [rows, n], of_columns [columns, n]) at the places of a sparse
/// matrix: [count].
Tensor csr_sampled_matmul(In starts, const Tensor& indices, const Tensor& x,
                          const Tensor& of_columns);
/// x [rows, columns] plus a sparse matrix, in the type of x.
Tensor csr_add(In values, const Tensor& starts, const Tensor& indices, const Tensor& x);
/// The sums of the elements of each row: [rows], of which one without elements has 0.
Tensor csr_row_sums(In values, const Tensor& starts);
/// exp(values) over its sum in each row: [count], the softmax of what is not masked.
Tensor csr_softmax(In values, const Tensor& starts);

}  // namespace weft
