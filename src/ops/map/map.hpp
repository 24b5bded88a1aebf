#pragma once

#include <string_view>
#include <vector>

#include "ops/map/functions.hpp"
#include "ops/plan.hpp"

namespace weft::ops::map {

/// y = function(inputs…), element by element. Inputs broadcast to the shape of `y`; types may
/// differ, and `y` may be the same view as an input. Floats are computed in f32, integers in their
/// own kind.
struct Args {
  std::string_view function;
  std::vector<View> inputs;
  View y;
  Scalars scalars{};
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::map
