#pragma once

#include "graph/rule.hpp"
#include "ops/mul_mat/mul_mat.hpp"

namespace weft::graph::kinds {

/// What the kind `pack` makes of x.
inline Type packed_type(const Type& x) {
  const ops::View packed = ops::mul_mat::packed_view(ops::View::dense(DType::f32, x.shape));
  return {DType::u32, {packed.extents().begin(), packed.extents().end()}};
}

}  // namespace weft::graph::kinds
