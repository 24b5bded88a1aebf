#pragma once

#include "ops/plan.hpp"

namespace weft::ops::triangle {

/// Solves A · X = B for X, where A is a triangular matrix; what lies on its other side is not read.
struct Args {
  View a;              ///< [batch…, n, n] of f32; batches broadcast to those of `x`.
  View b;              ///< [batch…, n, k] of f32; batches broadcast to those of `x`.
  View x;              ///< [batch…, n, k] of f32; may be the same view as `b`.
  bool upper = false;  ///< A has its elements on and above the diagonal.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::triangle
