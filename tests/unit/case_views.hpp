#pragma once

#include <cstddef>
#include <vector>

#include "ops/case.hpp"
#include "ops/view.hpp"

namespace weft {

/// Views of the tensors of a case, as if each lay in a buffer of its own.
inline std::vector<ops::View> views_of(const ops::Case& test) {
  std::vector<ops::View> views;
  for (std::size_t i = 0; i < test.tensors.size(); ++i) {
    const ops::TensorSpec& spec = test.tensors[i];
    views.push_back(spec.same_as >= 0 ? views[static_cast<std::size_t>(spec.same_as)]
                                      : spec.view(ops::Slot(i), 256));
  }
  return views;
}

}  // namespace weft
