#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::segments {

enum class Function : std::uint8_t { sum, mean, max, min };

/// Rows that belong together, as one row each: y[s] = Σ weights[i] · x[places[i]] for i from
/// starts[s] up to starts[s + 1], or their mean or extremes. That is the product of a sparse matrix
/// (compressed rows) with a dense one as well. Segments without rows are 0. Rows are added in an
/// order that follows from the shapes and the device, so that results are always the same.
struct Args {
  View starts;     ///< i32 [S + 1], not descending.
  View places;     ///< i32 [n]: a row of x each; what is no row counts as zeros.
  View weights{};  ///< Optional: [n] of f32, f16 or bf16.
  View x;          ///< [R, C] of f32, f16, bf16 or i32, any strides.
  View y;          ///< [S, C] of f32, or i32 for x of i32.
  Function function = Function::sum;
  std::uint32_t lanes = 0;  ///< Invocations that share a result; 0: as the device likes.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::segments
