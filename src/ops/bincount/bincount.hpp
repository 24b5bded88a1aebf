#pragma once

#include "ops/plan.hpp"

namespace weft::ops::bincount {

/// How often each whole number is there: y[b] becomes the number of elements of x that are b.
/// Others are left out.
struct Args {
  View x;  ///< i32 [n].
  View y;  ///< i32 [bins].
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::bincount
