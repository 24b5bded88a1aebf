#pragma once

#include <cstdint>

#include "ops/norm/norm.hpp"
#include "ops/plan.hpp"

namespace weft::ops::norm_back {

/// The gradients of norm::plan: y = normalised(x) * weight + bias, for every kind of norm. What
/// normalises a row is computed again from x, so that nothing needs to be kept from the forward
/// pass. Sums over rows do not depend on the run.
struct Args {
  norm::Kind kind = norm::Kind::layer;
  View x;          ///< The input of the norm (with the residual added, where there was one).
  View dy;         ///< The gradient of the output, the shape of x.
  View weight{};   ///< Optional: the weight of the norm, as for norm::Args.
  View dx;         ///< The shape of x, any float type; may be the same view as x or dy.
  View dweight{};  ///< Optional output, [last extent of x], or [channels] for groups.
  View dbias{};    ///< Optional output, as dweight.
  float eps = 1e-5F;
  std::uint64_t groups = 1;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::norm_back
