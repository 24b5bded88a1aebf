#pragma once

#include "ops/plan.hpp"

namespace weft::ops::repeat_back {

/// The gradient of repeating y as a whole to the shape of dy: dx[i] is the sum of dy at i, i +
/// extent, i + 2 * extent, … along every dimension. No kernel of its own: a sum over split
/// dimensions.
struct Args {
  View dy;  ///< What reduce::Args takes as x; its extents are multiples of those of dx.
  View dx;  ///< As many dimensions as dy.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::repeat_back
